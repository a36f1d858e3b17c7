import { directivesFor, readers } from '../../../config/index.ts';
import type { ProxyConfig } from '../config.ts';
import { cookieFlagsRule, cookieRule, redirectRule } from './readers.ts';

const { flag } = readers;
const HSL = ['http', 'server', 'location'] as const;
const source = (name: string): string => `nginx ngx_http_proxy_module#${name}`;

/** Directives for responses of upstreams. */
export const responseDirectives = directivesFor<ProxyConfig>()({
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
  proxy_pass_trailers: {
    contexts: HSL,
    args: flag,
    into: 'passTrailers',
    default: false,
    summary:
      'Whether trailers of the response are passed to the client; the uWebSockets.js engine cannot send any.',
    source: source('proxy_pass_trailers'),
  },
});
