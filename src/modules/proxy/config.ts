import type { ComplexValue } from '../../config/index.ts';
import type { ForwardingConfig, RegexConfig } from '../../contract/index.ts';
import type { AllowedHost } from '../../upstream/index.ts';
import type { OriginCacheConfig, UpstreamCacheConfig } from '../../upstream-cache/index.ts';

/** The text that is searched for: a plain one (with variables) or a regular expression. */
export type Pattern =
  | { readonly kind: 'text'; readonly value: ComplexValue }
  | { readonly kind: 'regex'; readonly regex: RegexConfig };

/** `proxy_redirect`, `proxy_cookie_domain` and `proxy_cookie_path`: what is replaced, and with what. */
export interface Replacement {
  readonly pattern: Pattern;
  readonly by: ComplexValue;
}

export type RedirectRule = 'default' | 'off' | Replacement;
export type CookieRule = 'off' | Replacement;

/** `proxy_cookie_flags cookie flag …`. */
export type CookieFlagsRule = 'off' | { readonly cookie: Pattern; readonly flags: readonly ComplexValue[] };

/** A condition of `proxy_next_upstream`. */
export type NextCondition = (typeof NEXT_CONDITIONS)[number];

export const NEXT_CONDITIONS = [
  'error',
  'timeout',
  'invalid_header',
  'non_idempotent',
  'http_500',
  'http_502',
  'http_503',
  'http_504',
  'http_403',
  'http_404',
  'http_429',
  'off',
  'updating',
] as const;

/** A header of a response that `proxy_ignore_headers` may name. */
export type IgnoredHeader = (typeof IGNORED_HEADERS)[number];

export const IGNORED_HEADERS = [
  'X-Accel-Redirect',
  'X-Accel-Expires',
  'X-Accel-Limit-Rate',
  'X-Accel-Buffering',
  'X-Accel-Charset',
  'Expires',
  'Cache-Control',
  'Set-Cookie',
  'Vary',
] as const;

/** `number size`. */
export interface Buffers {
  readonly number: number;
  readonly sizeBytes: number;
}

/** `proxy_cache*` of one location. */
interface CacheConfig extends UpstreamCacheConfig, OriginCacheConfig {
  readonly cacheMethods?: readonly string[];
  readonly cachePurge?: readonly (readonly ComplexValue[])[];
  /** The response header with tags, named for this location. */
  readonly tagHeader?: string;
  /** Responses have tags, in the header of `cacheTagsHeader`. */
  readonly cacheTags?: true;
  readonly cacheTagsHeader: string;
  readonly forceRanges: boolean;
  /** 0: responses are fetched whole. */
  readonly sliceBytes: number;
}

/** `proxy_*` of one location. */
export interface ProxyConfig extends ForwardingConfig, CacheConfig {
  /**
   * Hosts that variables in `pass` may name. Absent: any host, but if the client chooses it, none of this machine's own
   * addresses.
   */
  readonly allowHosts?: readonly (readonly AllowedHost[])[];
  readonly setBody?: ComplexValue;
  readonly method?: ComplexValue;
  readonly passRequestHeaders: boolean;
  readonly passRequestBody: boolean;

  readonly hideHeaders?: readonly string[];
  readonly passHeaders?: readonly string[];
  readonly ignoreHeaders?: readonly (readonly IgnoredHeader[])[];
  readonly redirects?: readonly RedirectRule[];
  readonly cookieDomains?: readonly CookieRule[];
  readonly cookiePaths?: readonly CookieRule[];
  readonly cookieFlags?: readonly CookieFlagsRule[];
  readonly interceptErrors: boolean;
  readonly passTrailers: boolean;
  readonly limitRate?: ComplexValue;

  readonly buffering: boolean;
  readonly requestBuffering: boolean;
  readonly bufferSizeBytes: number;
  readonly buffers: Buffers;
  readonly busyBuffersBytes?: number;
  readonly maxTempFileBytes: number;

  readonly nextUpstream?: readonly (readonly NextCondition[])[];
  readonly nextUpstreamTries: number;
  readonly nextUpstreamTimeoutMs: number;
  readonly ignoreClientAbort: boolean;
}
