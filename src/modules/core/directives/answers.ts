import { directivesFor, readers } from '../../../config/index.ts';
import type { CoreConfig } from '../../../contract/index.ts';
import { errorPage, readTypes } from '../readers.ts';

const { flag, oneOf, present, text, time } = readers;
const HSL = ['http', 'server', 'location'] as const;

/** What answers look like, and who gets them. */
export const answers = directivesFor<CoreConfig>()({
  default_type: {
    contexts: HSL,
    args: text,
    into: 'defaultType',
    default: 'text/plain',
    summary: 'Content type of answers that have no other.',
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
  server_tokens: {
    contexts: HSL,
    args: oneOf('on', 'off', 'build'),
    into: 'serverTokens',
    default: 'on',
    summary: 'Whether the version shows in the Server header and on built-in pages.',
    source: 'nginx ngx_http_core_module#server_tokens',
  },
  error_page: {
    contexts: ['http', 'server', 'location', 'location if'],
    args: errorPage,
    into: 'errorPages',
    repeat: 'append',
    summary: 'The page to serve for a status: a URI, a named location or a URL.',
    source: 'nginx ngx_http_core_module#error_page',
  },
  internal: {
    contexts: ['location'],
    args: present,
    into: 'internal',
    summary: 'Serves internal redirects only; a request from outside gets 404.',
    source: 'nginx ngx_http_core_module#internal',
  },
  absolute_redirect: {
    contexts: HSL,
    args: flag,
    into: 'absoluteRedirect',
    default: true,
    summary: 'Whether redirects that gw makes name scheme, host and port.',
    source: 'nginx ngx_http_core_module#absolute_redirect',
  },
  satisfy: {
    contexts: HSL,
    args: oneOf('all', 'any'),
    into: 'satisfy',
    default: 'all',
    summary: 'Whether all access checks must let a request in, or one of them is enough.',
    source: 'nginx ngx_http_core_module#satisfy',
  },
  auth_delay: {
    contexts: HSL,
    args: time,
    into: 'authDelayMs',
    default: 0,
    defaultText: '0s',
    summary: 'How long a 401 is held back.',
    source: 'nginx ngx_http_core_module#auth_delay',
  },
});
