import { directivesFor, readers } from '../../../config/index.ts';
import { IGNORED_HEADERS, type ProxyConfig } from '../config.ts';
import { buffers, cookieFlagsRule, cookieRule, redirectRule } from './readers.ts';

const { flag, size, text, value } = readers;
const HSL = ['http', 'server', 'location'] as const;
const source = (name: string): string => `nginx ngx_http_proxy_module#${name}`;

/** Directives for responses of upstreams. */
export const responseDirectives = directivesFor<ProxyConfig>()({
  proxy_hide_header: {
    contexts: HSL,
    args: text,
    into: 'hideHeaders',
    repeat: 'append',
    defaultText: 'Date, Server, X-Pad and X-Accel-*',
    summary: 'A header of the response that is not passed to the client.',
    source: source('proxy_hide_header'),
  },
  proxy_pass_header: {
    contexts: HSL,
    args: text,
    into: 'passHeaders',
    repeat: 'append',
    summary: 'A header of the response that is passed to the client although it is hidden by default.',
    source: source('proxy_pass_header'),
  },
  proxy_ignore_headers: {
    contexts: HSL,
    args: readers.someOf(IGNORED_HEADERS),
    into: 'ignoreHeaders',
    repeat: 'append',
    summary: 'Headers of the response that gw does not process.',
    source: source('proxy_ignore_headers'),
  },
  proxy_redirect: {
    contexts: HSL,
    args: redirectRule,
    into: 'redirects',
    repeat: 'append',
    defaultText: 'default',
    summary: 'What is replaced in the Location and Refresh headers of the response.',
    source: source('proxy_redirect'),
  },
  proxy_cookie_domain: {
    contexts: HSL,
    args: cookieRule('domain'),
    into: 'cookieDomains',
    repeat: 'append',
    defaultText: 'off',
    summary: 'What is replaced in the domain of cookies.',
    source: source('proxy_cookie_domain'),
  },
  proxy_cookie_path: {
    contexts: HSL,
    args: cookieRule('path'),
    into: 'cookiePaths',
    repeat: 'append',
    defaultText: 'off',
    summary: 'What is replaced in the path of cookies.',
    source: source('proxy_cookie_path'),
  },
  proxy_cookie_flags: {
    contexts: HSL,
    args: cookieFlagsRule,
    into: 'cookieFlags',
    repeat: 'append',
    defaultText: 'off',
    summary: 'Flags that are added to cookies or removed from them.',
    source: source('proxy_cookie_flags'),
  },
  proxy_intercept_errors: {
    contexts: HSL,
    args: flag,
    into: 'interceptErrors',
    default: false,
    summary: 'Whether "error_page" applies to responses of the upstream.',
    source: source('proxy_intercept_errors'),
  },
  proxy_pass_trailers: {
    contexts: HSL,
    args: flag,
    into: 'passTrailers',
    default: false,
    summary:
      'Whether trailers of the response are passed to the client; the uWebSockets.js engine cannot send any.',
    source: source('proxy_pass_trailers'),
  },
  proxy_limit_rate: {
    contexts: HSL,
    args: value,
    into: 'limitRate',
    defaultText: '0',
    summary: 'Bytes per second at which a response is read from the upstream; 0: no limit.',
    source: source('proxy_limit_rate'),
  },
  proxy_buffering: {
    contexts: HSL,
    args: flag,
    into: 'buffering',
    default: true,
    summary: 'Whether gw reads ahead of the client, up to the size of "proxy_buffers".',
    source: source('proxy_buffering'),
  },
  proxy_buffer_size: {
    contexts: HSL,
    args: size,
    into: 'bufferSizeBytes',
    default: 4096,
    defaultText: '4k',
    summary: "Maximum size of the head of an upstream's response.",
    source: source('proxy_buffer_size'),
  },
  proxy_buffers: {
    contexts: HSL,
    args: buffers,
    into: 'buffers',
    default: { number: 8, sizeBytes: 4096 },
    defaultText: '8 4k',
    summary: 'How far gw reads ahead of the client.',
    source: source('proxy_buffers'),
  },
  proxy_busy_buffers_size: {
    contexts: HSL,
    args: size,
    into: 'busyBuffersBytes',
    defaultText: 'twice the larger of "proxy_buffer_size" and one of "proxy_buffers"',
    summary: 'Only checked against the other buffer sizes; gw sends data as soon as it has it.',
    source: source('proxy_busy_buffers_size'),
  },
  proxy_max_temp_file_size: {
    contexts: HSL,
    args: size,
    into: 'maxTempFileBytes',
    default: 1_073_741_824,
    defaultText: '1024m',
    summary:
      'Only checked; responses are never written to disk: gw stops reading from the upstream while the client is slow.',
    source: source('proxy_max_temp_file_size'),
  },
});
