import { type ArgReader, readers, type Rows } from '../../../config/index.ts';
import type { ProxyConfig } from '../config.ts';
import { responseDirectives } from './responses.ts';
import { requestDirectives } from './requests.ts';
import { tlsDirectives } from './tls.ts';

const HSL = ['http', 'server', 'location'] as const;

/** Words that may hold variables. */
const values = (syntax: string, min = 1, max = Infinity): ArgReader<unknown> =>
  readers.words({ syntax, min, max }, (words, scope) => words.map((word) => scope.complexValue(word)));
const words = (syntax: string, max = Infinity): ArgReader<unknown> => ({ ...readers.texts, syntax, max });
const { flag, integer, size, text, time } = readers;

const CACHING: Readonly<Record<string, ArgReader<unknown>>> = {
  proxy_cache: values('zone | off', 1, 1),
  proxy_cache_key: values('string', 1, 1),
  proxy_cache_valid: words('[code ...] time'),
  proxy_cache_bypass: values('string ...'),
  proxy_no_cache: values('string ...'),
  proxy_cache_methods: words('GET | HEAD | POST ...'),
  proxy_cache_min_uses: integer(),
  proxy_cache_use_stale: words('error | timeout | invalid_header | updating | http_500 ... | off'),
  proxy_cache_lock: flag,
  proxy_cache_lock_timeout: time,
  proxy_cache_lock_age: time,
  proxy_cache_background_update: flag,
  proxy_cache_revalidate: flag,
  proxy_cache_max_range_offset: size,
  proxy_cache_convert_head: flag,
  proxy_store: values('on | off | string', 1, 1),
  proxy_store_access: words('users:permissions ...', 3),
  proxy_force_ranges: flag,
  proxy_ssl_certificate_cache: words('off | max=number [inactive=time] [valid=time]', 3),
};

const REASONS: Readonly<Record<string, string>> = {
  proxy_force_ranges: 'ranges of a proxied response are left to the upstream',
  proxy_ssl_certificate_cache: 'certificates stay loaded',
};

/** Directives that may be repeated in one block. */
const MANY: ReadonlySet<string> = new Set(['proxy_cache_valid', 'proxy_cache_path']);

const row = (
  name: string,
  args: ArgReader<unknown>,
  contexts: readonly ('http' | 'server' | 'location')[],
): Rows<ProxyConfig>[string] => {
  const why = REASONS[name] ?? 'responses of upstreams are not cached';
  return {
    contexts,
    args,
    accepted: why,
    ...(MANY.has(name) && { many: true }),
    summary: `Accepted, without effect: ${why}.`,
    source: `nginx ngx_http_proxy_module#${name}`,
  };
};

/** Directives of nginx's cache: accepted and checked, without effect. Every request is sent to the upstream. */
const cachingDirectives: Rows<ProxyConfig> = {
  ...Object.fromEntries(Object.entries(CACHING).map(([name, args]) => [name, row(name, args, HSL)])),
  proxy_cache_path: row(
    'proxy_cache_path',
    { ...text, syntax: 'path keys_zone=name:size [...]', min: 2, max: Infinity },
    ['http'],
  ),
};

/** nginx's proxy module. */
export const directives: Rows<ProxyConfig> = {
  ...requestDirectives,
  ...responseDirectives,
  ...tlsDirectives,
  ...cachingDirectives,
};

export { parseTarget } from './requests.ts';
