import { AT, directivesFor, readers, uses } from '../../config/index.ts';
import type { StaticConfig } from './config.ts';
import { indexFiles, openFileCache, symlinks, tryFiles } from './readers.ts';

const { flag, integer, oneOf, present, time } = readers;
const HSL = ['http', 'server', 'location'] as const;

const lookups = directivesFor<StaticConfig>()({
  index: {
    contexts: HSL,
    args: indexFiles,
    into: 'index',
    repeat: 'append',
    default: [[{ parts: ['index.html'] }]],
    defaultText: 'index.html',
    summary: 'Files that stand for a directory; the first that is there is served.',
    source: 'nginx ngx_http_index_module#index',
  },
  try_files: {
    contexts: ['server', 'location'],
    args: tryFiles,
    into: 'tryFiles',
    inherit: false,
    summary:
      'Serves the first file that is there, else goes on to the URI or answers with the code at the end.',
    roles: uses('named location', AT.lastLocation),
    source: 'nginx ngx_http_core_module#try_files',
  },
  disable_symlinks: {
    contexts: HSL,
    args: symlinks,
    into: 'disableSymlinks',
    default: { rule: 'off' },
    defaultText: 'off',
    summary: 'Whether a path may have symbolic links, and from which part of it on.',
    source: 'nginx ngx_http_core_module#disable_symlinks',
  },
  log_not_found: {
    contexts: HSL,
    args: flag,
    into: 'logNotFound',
    default: true,
    summary: 'Whether files that are not there show in the error log.',
    source: 'nginx ngx_http_core_module#log_not_found',
  },
});

const listings = directivesFor<StaticConfig>()({
  autoindex: {
    contexts: HSL,
    args: flag,
    into: 'autoindex',
    default: false,
    summary: 'Lists a directory that has no index file.',
    source: 'nginx ngx_http_autoindex_module#autoindex',
  },
  autoindex_format: {
    contexts: HSL,
    args: oneOf('html', 'xml', 'json', 'jsonp'),
    into: 'autoindexFormat',
    default: 'html',
    summary: 'Form of a directory listing.',
    source: 'nginx ngx_http_autoindex_module#autoindex_format',
  },
  autoindex_exact_size: {
    contexts: HSL,
    args: flag,
    into: 'autoindexExactSize',
    default: true,
    summary: 'Lists sizes in bytes, else rounded to kilobytes, megabytes and gigabytes.',
    source: 'nginx ngx_http_autoindex_module#autoindex_exact_size',
  },
  autoindex_localtime: {
    contexts: HSL,
    args: flag,
    into: 'autoindexLocaltime',
    default: false,
    summary: 'Lists times in the local time zone, else in UTC.',
    source: 'nginx ngx_http_autoindex_module#autoindex_localtime',
  },
  random_index: {
    contexts: ['location'],
    args: flag,
    into: 'randomIndex',
    default: false,
    summary: 'Serves any file of a directory as its index.',
    source: 'nginx ngx_http_random_index_module#random_index',
  },
});

const answers = directivesFor<StaticConfig>()({
  empty_gif: {
    contexts: ['location'],
    args: present,
    into: 'emptyGif',
    inherit: 'nameless',
    summary: 'Answers with one transparent pixel.',
    source: 'nginx ngx_http_empty_gif_module#empty_gif',
  },
  gzip_static: {
    contexts: HSL,
    args: oneOf('on', 'off', 'always'),
    into: 'gzipStatic',
    default: 'off',
    summary: 'Sends a file in gzip that lies beside the plain one, to clients that accept it or to all.',
    source: 'nginx ngx_http_gzip_static_module#gzip_static',
  },
  etag: {
    contexts: HSL,
    args: flag,
    into: 'etag',
    default: true,
    summary: 'Whether files have an `ETag`, made of their time and size.',
    source: 'nginx ngx_http_core_module#etag',
  },
  if_modified_since: {
    contexts: HSL,
    args: oneOf('off', 'exact', 'before'),
    into: 'ifModifiedSince',
    default: 'exact',
    summary:
      'When `If-Modified-Since` is answered with 304: never, at the very time of the file, or from then on.',
    source: 'nginx ngx_http_core_module#if_modified_since',
  },
  max_ranges: {
    contexts: HSL,
    args: integer(),
    into: 'maxRanges',
    defaultText: 'no limit',
    summary: 'Ranges that one request may ask for; beyond them it gets the whole file. 0 offers none.',
    source: 'nginx ngx_http_core_module#max_ranges',
  },
});

const cache = directivesFor<StaticConfig>()({
  open_file_cache: {
    contexts: HSL,
    args: openFileCache,
    into: 'openFileCache',
    default: 'off',
    summary:
      'Remembers what is known of files; small ones are kept in memory, large ones open. One per worker.',
    source: 'nginx ngx_http_core_module#open_file_cache',
  },
  open_file_cache_valid: {
    contexts: HSL,
    args: time,
    into: 'openFileCacheValidMs',
    default: 60_000,
    defaultText: '60s',
    summary: 'How long what is remembered of a file is believed.',
    source: 'nginx ngx_http_core_module#open_file_cache_valid',
  },
  open_file_cache_min_uses: {
    contexts: HSL,
    args: integer({ min: 1 }),
    into: 'openFileCacheMinUses',
    default: 1,
    summary: 'How often a file is asked for before it is kept.',
    source: 'nginx ngx_http_core_module#open_file_cache_min_uses',
  },
  open_file_cache_errors: {
    contexts: HSL,
    args: flag,
    into: 'openFileCacheErrors',
    default: false,
    summary: 'Whether files that are not there are remembered as well.',
    source: 'nginx ngx_http_core_module#open_file_cache_errors',
  },
});

/** Static files, and what nginx makes of directories. */
export const directives = { ...lookups, ...listings, ...answers, ...cache };
