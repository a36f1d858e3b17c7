import type { Word } from '../../../grammar/index.ts';
import {
  type ArgReader,
  AT,
  type ComplexValue,
  constantText,
  directivesFor,
  readers,
  type ReadScope,
  uses,
} from '../../config/index.ts';

/** One file of `try_files`. */
export interface TriedFile {
  readonly name: ComplexValue;
  /** The name ended with a slash, which is cut off; it matches directories only. */
  readonly isDirectory: boolean;
  readonly hasVariables: boolean;
}

/** `try_files file ... fallback`. */
export interface TryFilesConfig {
  readonly files: readonly TriedFile[];
  /** A URI or `@name`, or a status. */
  readonly fallback:
    { readonly target: ComplexValue; readonly hasVariables: boolean } | { readonly code: number };
}

/** `disable_symlinks`. */
interface SymlinksConfig {
  readonly rule: 'off' | 'on' | 'if_not_owner';
  readonly from?: ComplexValue;
}

/** `open_file_cache`. */
interface OpenFileCacheConfig {
  readonly max: number;
  readonly inactiveMs: number;
}

/** The configuration of one location. */
export interface StaticConfig {
  /** One list for each directive of the block; they are concatenated. */
  readonly index: readonly (readonly ComplexValue[])[];
  readonly tryFiles?: TryFilesConfig;
  readonly autoindex: boolean;
  readonly autoindexFormat: 'html' | 'xml' | 'json' | 'jsonp';
  readonly autoindexExactSize: boolean;
  readonly autoindexLocaltime: boolean;
  readonly randomIndex: boolean;
  readonly emptyGif?: true;
  readonly gzipStatic: 'on' | 'off' | 'always';
  readonly brotliStatic: 'on' | 'off' | 'always';

  readonly etag: boolean;
  readonly logNotFound: boolean;

  readonly disableSymlinks: SymlinksConfig;
  readonly openFileCache: OpenFileCacheConfig | 'off';
  readonly openFileCacheValidMs: number;
  readonly openFileCacheMinUses: number;
  readonly openFileCacheErrors: boolean;
}

/** `index file ...`: names after an absolute one are never used. */
const indexFiles: ArgReader<readonly ComplexValue[]> = readers.words(
  { syntax: 'file ...', min: 1, max: Infinity },
  (words, scope) => {
    const empty = words.find(({ value }) => value === '');
    if (empty) scope.report.emerg(`index "${empty.value}" in "index" directive is invalid`, empty.span);
    for (const { value, span } of words.slice(0, -1)) {
      if (value.startsWith('/'))
        scope.report.warn('only the last index in "index" directive should be absolute', span);
    }
    return empty ? undefined : words.map((word) => scope.complexValue(word));
  },
);

/** `try_files file ... uri | =code`. */
const tryFiles: ArgReader<TryFilesConfig> = readers.words(
  { syntax: 'file ... uri | file ... =code', min: 2, max: Infinity },
  (words, scope) => {
    const last = words.at(-1) as Word;
    const files = words.slice(0, -1).map((word) => triedFile(word, scope));
    if (!last.value.startsWith('=')) {
      const target = scope.complexValue(last);
      return { files, fallback: { target, hasVariables: constantText(target) === undefined } };
    }
    const code = Number(last.value.slice(1));
    if (/^=\d{1,3}$/.test(last.value)) return { files, fallback: { code } };
    scope.report.emerg(`invalid code "${last.value}"`, last.span);
    return undefined;
  },
);

function triedFile(word: Word, scope: ReadScope): TriedFile {
  const name = scope.complexValue(word);
  const isDirectory = word.value.endsWith('/');
  const hasVariables = constantText(name) === undefined;
  if (!isDirectory) return { name, isDirectory, hasVariables };
  const parts = [...name.parts];
  // A value that ends with a slash ends with a text part.
  parts.push((parts.pop() as string).slice(0, -1));
  return { name: { parts }, isDirectory, hasVariables };
}

/** `disable_symlinks off | on [from=part] | if_not_owner [from=part]`. */
const symlinks: ArgReader<SymlinksConfig> = readers.words(
  { syntax: 'off | on [from=part] | if_not_owner [from=part]', min: 1, max: 2 },
  (words, { report, span, complexValue }) => {
    const rules = words.flatMap(({ value }) => RULES.find((rule) => rule === value) ?? []);
    const [from] = words.filter(({ value }) => value.startsWith('from='));
    const unknown = words.find(
      ({ value }) => !value.startsWith('from=') && !RULES.some((rule) => rule === value),
    );
    const [rule] = rules;
    if (unknown) report.emerg(`invalid parameter "${unknown.value}"`, unknown.span);
    else if (!rule)
      report.emerg('"disable_symlinks" must have "off", "on" or "if_not_owner" parameter', span);
    else if (rules.length > 1)
      report.emerg(`duplicate parameters "${rules.join(' ')}"`, span, { rule: 'duplicate-directive' });
    else if (rule === 'off' && from) report.emerg('"from=" cannot be used with "off" parameter', from.span);
    else return { rule, ...(from && { from: without('from=', complexValue(from)) }) };
    return undefined;
  },
);

const RULES = ['off', 'on', 'if_not_owner'] as const;

/** `open_file_cache off | max=number [inactive=time]`. */
const openFileCache: ArgReader<OpenFileCacheConfig | 'off'> = readers.words(
  { syntax: 'off | max=number [inactive=time]', min: 1, max: 2 },
  (words, { report, span }) => {
    if (words.some(({ value }) => value === 'off')) return 'off';
    let max: number | undefined;
    let inactiveMs = 60_000;
    for (const word of words) {
      const [name, value = ''] = word.value.split(/=(.*)/s);
      const timeMs = name === 'inactive' ? readers.parseTimeMs(value) : undefined;
      if (name === 'max' && /^[1-9]\d{0,9}$/.test(value)) max = Number(value);
      else if (timeMs !== undefined) inactiveMs = timeMs;
      else {
        report.emerg(`invalid "open_file_cache" parameter "${word.value}"`, word.span, expectedOf(name));
        return undefined;
      }
    }
    if (max !== undefined) return { max, inactiveMs };
    report.emerg('"open_file_cache" must have the "max" parameter', span, CACHE_PARAMETERS.max);
    return undefined;
  },
);

const CACHE_PARAMETERS = {
  max: 'expected a number from 1 on, such as max=1000',
  inactive: 'expected a time such as inactive=60s',
} as const;

/** Returns the hint for a bad parameter of `open_file_cache`. */
function expectedOf(name: string | undefined): string {
  if (name === 'max' || name === 'inactive') return CACHE_PARAMETERS[name];
  return 'expected off, max= or inactive=';
}

/** Removes a prefix from a value. */
function without(prefix: string, { parts: [first, ...rest] }: ComplexValue): ComplexValue {
  const left = (first as string).slice(prefix.length);
  return { parts: left === '' ? rest : [left, ...rest] };
}

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
    summary: 'Files that are served for a directory: the first that exists.',
    source: 'nginx ngx_http_index_module#index',
  },
  try_files: {
    contexts: ['server', 'location'],
    args: tryFiles,
    into: 'tryFiles',
    inherit: false,
    summary:
      'Serves the first file that exists; otherwise redirects internally to the URI, or responds with the code.',
    roles: uses('named location', AT.lastLocation),
    source: 'nginx ngx_http_core_module#try_files',
  },
  disable_symlinks: {
    contexts: HSL,
    args: symlinks,
    into: 'disableSymlinks',
    default: { rule: 'off' },
    defaultText: 'off',
    summary: 'Whether symbolic links are allowed in paths, and from which part of the path on not.',
    source: 'nginx ngx_http_core_module#disable_symlinks',
  },
  log_not_found: {
    contexts: HSL,
    args: flag,
    into: 'logNotFound',
    default: true,
    summary: 'Whether missing files are logged in the error log.',
    source: 'nginx ngx_http_core_module#log_not_found',
  },
});

const listings = directivesFor<StaticConfig>()({
  autoindex: {
    contexts: HSL,
    args: flag,
    into: 'autoindex',
    default: false,
    summary: 'Lists directories that have no index file.',
    source: 'nginx ngx_http_autoindex_module#autoindex',
  },
  autoindex_format: {
    contexts: HSL,
    args: oneOf('html', 'xml', 'json', 'jsonp'),
    into: 'autoindexFormat',
    default: 'html',
    summary: 'Format of directory listings.',
    source: 'nginx ngx_http_autoindex_module#autoindex_format',
  },
  autoindex_exact_size: {
    contexts: HSL,
    args: flag,
    into: 'autoindexExactSize',
    default: true,
    summary: 'Lists exact sizes in bytes; otherwise rounded to kilobytes, megabytes and gigabytes.',
    source: 'nginx ngx_http_autoindex_module#autoindex_exact_size',
  },
  autoindex_localtime: {
    contexts: HSL,
    args: flag,
    into: 'autoindexLocaltime',
    default: false,
    summary: 'Lists times in the local time zone; otherwise in UTC.',
    source: 'nginx ngx_http_autoindex_module#autoindex_localtime',
  },
  random_index: {
    contexts: ['location'],
    args: flag,
    into: 'randomIndex',
    default: false,
    summary: 'Serves a random file of a directory as its index.',
    source: 'nginx ngx_http_random_index_module#random_index',
  },
});

const responses = directivesFor<StaticConfig>()({
  empty_gif: {
    contexts: ['location'],
    args: present,
    into: 'emptyGif',
    inherit: 'nameless',
    summary: 'Responds with one transparent pixel.',
    source: 'nginx ngx_http_empty_gif_module#empty_gif',
  },
  gzip_static: {
    contexts: HSL,
    args: oneOf('on', 'off', 'always'),
    into: 'gzipStatic',
    default: 'off',
    summary: 'Sends the precompressed file with the extension .gz, to clients that accept gzip or to all.',
    source: 'nginx ngx_http_gzip_static_module#gzip_static',
  },
  brotli_static: {
    contexts: HSL,
    args: oneOf('on', 'off', 'always'),
    into: 'brotliStatic',
    default: 'off',
    summary: 'Sends the precompressed file with the extension .br, to clients that accept Brotli or to all.',
    source: 'ngx_brotli#brotli_static',
  },
  etag: {
    contexts: HSL,
    args: flag,
    into: 'etag',
    default: true,
    summary: 'Whether responses have an `ETag`, made of the modification time and size of the file.',
    source: 'nginx ngx_http_core_module#etag',
  },
});

const cache = directivesFor<StaticConfig>()({
  open_file_cache: {
    contexts: HSL,
    args: openFileCache,
    into: 'openFileCache',
    default: 'off',
    summary:
      'Caches what is known about files in each worker: those of up to 64 KB are kept in memory (64 MB at most), larger ones open. Without "inactive" a file that is not requested for 60s is removed.',
    source: 'nginx ngx_http_core_module#open_file_cache',
  },
  open_file_cache_valid: {
    contexts: HSL,
    args: time,
    into: 'openFileCacheValidMs',
    default: 60_000,
    defaultText: '60s',
    summary: 'How long a cached file is used before it is checked again.',
    source: 'nginx ngx_http_core_module#open_file_cache_valid',
  },
  open_file_cache_min_uses: {
    contexts: HSL,
    args: integer({ min: 1 }),
    into: 'openFileCacheMinUses',
    default: 1,
    summary: 'Number of requests after which a file is kept open or in memory.',
    source: 'nginx ngx_http_core_module#open_file_cache_min_uses',
  },
  open_file_cache_errors: {
    contexts: HSL,
    args: flag,
    into: 'openFileCacheErrors',
    default: false,
    summary: 'Whether missing files are cached as well.',
    source: 'nginx ngx_http_core_module#open_file_cache_errors',
  },
});

/** The directives about static files and directories. */
export const directives = { ...lookups, ...listings, ...responses, ...cache };
