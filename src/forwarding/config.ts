import type { ComplexValue } from '../config/index.ts';
import type { OriginCacheConfig, UpstreamCacheConfig } from '../upstream-cache/index.ts';
import type { StoredFileConfig } from './stored-file.ts';

/** A condition of `proxy_next_upstream` and its kin. */
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

/** A header of a response that `proxy_ignore_headers` and its kin may name. */
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

/** How peers are connected to and tried in turn, in every protocol. */
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

/** Which parts of a response's head clients are shown. */
export interface ShownHeadersConfig {
  readonly hideHeaders?: readonly string[];
  readonly passHeaders?: readonly string[];
  readonly ignoreHeaders?: readonly (readonly IgnoredHeader[])[];
  readonly interceptErrors: boolean;
}

/** What is passed on of requests and responses. */
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

/** Which responses of a location are stored, and how they are served. */
export interface StoringConfig
  extends UpstreamCacheConfig, Omit<OriginCacheConfig, 'ignoreHeaders'>, StoredFileConfig {
  readonly cacheMethods?: readonly string[];
  readonly cachePurge?: readonly (readonly ComplexValue[])[];
  readonly forceRanges: boolean;
}

/** What a location says about asking upstreams, whatever the protocol: `proxy_…`, `fastcgi_…`, `uwsgi_…` and so on. */
export interface ForwardingConfig extends TryingConfig, PassingConfig, StoringConfig {}

/** Gives the config of a protocol that has only directives about connections: nothing is stored, and responses are read ahead. */
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
