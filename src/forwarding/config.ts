import type { ComplexValue } from '../config/index.ts';
import type { OriginCacheConfig, UpstreamCacheConfig } from '../cache/index.ts';
import type { StoredFileConfig } from './stored-file.ts';

/** A condition of `proxy_next_upstream` and similar directives. */
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

/** A response header that `proxy_ignore_headers` and similar directives may name. */
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

/** The settings for connecting to peers and trying them in turn, in every protocol. */
export interface TryingConfig {
  readonly connectTimeoutMs: number;
  readonly sendTimeoutMs: number;
  readonly readTimeoutMs: number;
  readonly bind?: ComplexValue | 'off';
  readonly socketKeepalive: boolean;
  /** Maximum size of a response's head. */
  readonly bufferSizeBytes: number;
  readonly nextUpstream?: readonly (readonly NextCondition[])[];
  readonly nextUpstreamTries: number;
  readonly nextUpstreamTimeoutMs: number;
}

/** The parts of a response's head that clients get. */
export interface ShownHeadersConfig {
  readonly hideHeaders?: readonly string[];
  readonly passHeaders?: readonly string[];
  readonly ignoreHeaders?: readonly (readonly IgnoredHeader[])[];
  readonly interceptErrors: boolean;
}

/** The parts of requests and responses that are passed on. */
export interface PassingConfig extends ShownHeadersConfig {
  readonly passRequestHeaders: boolean;
  readonly passRequestBody: boolean;
  readonly requestBuffering: boolean;
  readonly ignoreClientAbort: boolean;
  readonly limitRate?: ComplexValue;
  readonly buffering: boolean;
  readonly buffers: Buffers;
  readonly busyBuffersBytes?: number;
  readonly maxTempFileBytes: number;
}

/** The settings that decide which responses of a location are stored, and how they are served. */
export interface StoringConfig
  extends UpstreamCacheConfig, Omit<OriginCacheConfig, 'ignoreHeaders'>, StoredFileConfig {
  readonly cacheMethods?: readonly string[];
  readonly cachePurge?: readonly (readonly ComplexValue[])[];
  readonly forceRanges: boolean;
}

/** The settings of a location for requests to upstreams, in any protocol: `proxy_…`, `fastcgi_…` and so on. */
export interface ForwardingConfig extends TryingConfig, PassingConfig, StoringConfig {}

/** Returns the config of a protocol that only has directives about connections: no storing, with read-ahead. */
export function plainForwarding<C extends TryingConfig>(config: C): C & ForwardingConfig {
  return { ...NOTHING_STORED, ...config };
}

const NOTHING_STORED: Omit<ForwardingConfig, keyof TryingConfig> = {
  passRequestHeaders: false,
  passRequestBody: false,
  requestBuffering: true,
  ignoreClientAbort: false,
  interceptErrors: true,
  buffering: true,
  buffers: { number: 8, sizeBytes: 4096 },
  maxTempFileBytes: 0,
  store: 'off',
  storeAccess: 0o600,
  cache: { parts: ['off'] },
  cacheMinUses: 1,
  cacheLock: false,
  cacheLockTimeoutMs: 5_000,
  cacheLockAgeMs: 5_000,
  cacheBackgroundUpdate: false,
  cacheRevalidate: false,
  cacheConvertHead: false,
  cacheVerifyBytes: 0,
  forceRanges: false,
};
