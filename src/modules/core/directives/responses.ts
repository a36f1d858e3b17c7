import { AT, directivesFor, readers, uses } from '../../../config/index.ts';
import type { CoreConfig } from '../../../contract/index.ts';
import { errorPage, readTypes, serverTokens } from './readers.ts';

const { flag, integer, oneOf, present, size, text, time, values } = readers;
const HSL = ['http', 'server', 'location'] as const;

/** Directives about responses and access to them. */
export const responses = directivesFor<CoreConfig>()({
  default_type: {
    contexts: HSL,
    args: text,
    into: 'defaultType',
    default: 'text/plain',
    summary: 'Content type of responses that have no other.',
    source: 'nginx ngx_http_core_module#default_type',
  },
  types: {
    contexts: HSL,
    data: readTypes,
    into: 'types',
    merge: (before, added) => ({ ...before, ...added }),
    syntax: '{ type extension ...; }',
    default: { html: 'text/html', gif: 'image/gif', jpg: 'image/jpeg' },
    defaultText: 'text/html html; image/gif gif; image/jpeg jpg;',
    summary: 'Content types by file name extension.',
    source: 'nginx ngx_http_core_module#types',
  },
  early_hints: {
    contexts: HSL,
    args: values,
    into: 'earlyHints',
    repeat: 'append',
    summary:
      'If one of the values is neither empty nor 0, 103 responses of the upstream are passed on; uWebSockets.js cannot send them.',
    source: 'nginx ngx_http_core_module#early_hints',
  },
  if_modified_since: {
    contexts: HSL,
    args: oneOf('off', 'exact', 'before'),
    into: 'ifModifiedSince',
    default: 'exact',
    summary:
      'Which `If-Modified-Since` dates lead to a 304: none, the exact time of the file, or that time and later ones.',
    source: 'nginx ngx_http_core_module#if_modified_since',
  },
  max_ranges: {
    contexts: HSL,
    args: integer(),
    into: 'maxRanges',
    defaultText: 'no limit',
    summary:
      'Maximum number of ranges of one request; if it asks for more, it gets the whole file. 0 disables ranges.',
    source: 'nginx ngx_http_core_module#max_ranges',
  },
  server_tokens: {
    contexts: HSL,
    args: serverTokens,
    into: 'serverTokens',
    default: 'on',
    summary:
      'Whether the version is shown in the Server header and on built-in pages, or a text to show instead; with an empty text the header is not sent.',
    source: 'nginx ngx_http_core_module#server_tokens',
  },
  error_page: {
    contexts: ['http', 'server', 'location', 'location if'],
    args: errorPage,
    into: 'errorPages',
    repeat: 'append',
    summary: 'The page that is shown for a status: a URI, a named location or a URL.',
    roles: uses('named location', AT.lastLocation),
    source: 'nginx ngx_http_core_module#error_page',
  },
  log_subrequest: {
    contexts: HSL,
    args: flag,
    into: 'logSubrequest',
    default: false,
    summary: 'Whether subrequests are logged in the access logs.',
    source: 'nginx ngx_http_core_module#log_subrequest',
  },
  internal: {
    contexts: ['location'],
    args: present,
    into: 'internal',
    summary: 'The location serves internal redirects only; other requests get 404.',
    source: 'nginx ngx_http_core_module#internal',
  },
  absolute_redirect: {
    contexts: HSL,
    args: flag,
    into: 'absoluteRedirect',
    default: true,
    summary: 'Whether redirects that gw generates contain scheme, host and port.',
    source: 'nginx ngx_http_core_module#absolute_redirect',
  },
  server_name_in_redirect: {
    contexts: HSL,
    args: flag,
    into: 'serverNameInRedirect',
    default: false,
    summary: "Whether redirects that gw generates use the first `server_name` instead of the request's host.",
    source: 'nginx ngx_http_core_module#server_name_in_redirect',
  },
  port_in_redirect: {
    contexts: HSL,
    args: flag,
    into: 'portInRedirect',
    default: true,
    summary: 'Whether redirects that gw generates contain a port other than 80 and 443.',
    source: 'nginx ngx_http_core_module#port_in_redirect',
  },
  recursive_error_pages: {
    contexts: HSL,
    args: flag,
    into: 'recursiveErrorPages',
    default: false,
    summary: 'Whether an error page may lead to another error page.',
    source: 'nginx ngx_http_core_module#recursive_error_pages',
  },
  chunked_transfer_encoding: {
    contexts: HSL,
    args: flag,
    into: 'chunks',
    default: true,
    summary:
      'Whether responses of unknown length are sent in chunks instead of ending with the connection; with uWebSockets.js they always are.',
    source: 'nginx ngx_http_core_module#chunked_transfer_encoding',
  },
  post_action: {
    contexts: ['http', 'server', 'location', 'location if'],
    args: text,
    into: 'postAction',
    summary: 'A URI or named location that is requested after a response is complete.',
    roles: uses('named location', AT.location),
    source: 'nginx ngx_http_core_module#post_action',
  },
  msie_padding: {
    contexts: HSL,
    args: flag,
    into: 'msiePadding',
    default: true,
    summary: 'Pads built-in error pages so that Internet Explorer and Chrome show them.',
    source: 'nginx ngx_http_core_module#msie_padding',
  },
  msie_refresh: {
    contexts: HSL,
    args: flag,
    into: 'msieRefresh',
    default: false,
    summary: 'Sends Internet Explorer a page that refreshes itself instead of a redirect.',
    source: 'nginx ngx_http_core_module#msie_refresh',
  },
  subrequest_output_buffer_size: {
    contexts: HSL,
    args: size,
    into: 'maxKeptBytes',
    default: 4096,
    defaultText: '4k',
    summary:
      'Longest response of a location that the `include` of a page (SSI) keeps with `set` in a variable, and longest `block` of its own pages; a longer response ends the page.',
    source: 'nginx ngx_http_core_module#subrequest_output_buffer_size',
  },
  satisfy: {
    contexts: HSL,
    args: oneOf('all', 'any'),
    into: 'satisfy',
    default: 'all',
    summary: 'Whether all access checks must allow a request, or one of them is enough.',
    source: 'nginx ngx_http_core_module#satisfy',
  },
  auth_delay: {
    contexts: HSL,
    args: time,
    into: 'authDelayMs',
    default: 0,
    defaultText: '0s',
    summary: 'How long a response with 401 is delayed.',
    source: 'nginx ngx_http_core_module#auth_delay',
  },
});
