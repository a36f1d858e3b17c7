import { type ArgReader, readers, type Rows } from '../../../config/index.ts';
import type { ProxyConfig } from '../config.ts';
import { cachingDirectives } from './caching.ts';
import { responseDirectives } from './responses.ts';
import { requestDirectives } from './requests.ts';
import { tlsDirectives } from './tls.ts';

const HSL = ['http', 'server', 'location'] as const;

/** Words that may hold variables. */
const values = (syntax: string, min = 1, max = Infinity): ArgReader<unknown> =>
  readers.words({ syntax, min, max }, (words, scope) => words.map((word) => scope.complexValue(word)));
const words = (syntax: string, max = Infinity): ArgReader<unknown> => ({ ...readers.texts, syntax, max });

const STORING: Readonly<Record<string, ArgReader<unknown>>> = {
  proxy_store: values('on | off | string', 1, 1),
  proxy_store_access: words('users:permissions ...', 3),
  proxy_ssl_certificate_cache: words('off | max=number [inactive=time] [valid=time]', 3),
};

const REASONS: Readonly<Record<string, string>> = {
  proxy_ssl_certificate_cache: 'certificates stay loaded',
};

const row = (name: string, args: ArgReader<unknown>): Rows<ProxyConfig>[string] => {
  const why = REASONS[name] ?? 'files of responses are kept by "proxy_cache" only';
  return {
    contexts: HSL,
    args,
    accepted: why,
    summary: `Accepted, without effect: ${why}.`,
    source: `nginx ngx_http_proxy_module#${name}`,
  };
};

/** Directives that are accepted and checked, without effect. */
const withoutEffect: Rows<ProxyConfig> = Object.fromEntries(
  Object.entries(STORING).map(([name, args]) => [name, row(name, args)]),
);

/** nginx's proxy module. */
export const directives: Rows<ProxyConfig> = {
  ...requestDirectives,
  ...responseDirectives,
  ...tlsDirectives,
  ...cachingDirectives,
  ...withoutEffect,
};

export { parseTarget } from './requests.ts';
