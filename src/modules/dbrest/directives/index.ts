import {
  cacheDirectives,
  type ConditionsConfig,
  conditionsDirectives,
  type DbrestCacheConfig,
} from './caching.ts';
import { type ConnectionConfig, connectionDirectives } from './connection.ts';
import { type LiveConfig, liveDirectives } from './live.ts';
import { type RequestsConfig, requestsDirectives } from './requests.ts';
import { type TokensConfig, tokensDirectives } from './tokens.ts';

export type { DbrestCacheConfig } from './caching.ts';
export {
  DEFAULT_LISTEN_ENTRIES,
  type LiveConfig,
  CACHE_CHANNEL,
  OWN_CHANNELS,
  CHANGES_CHANNEL,
  SCHEMA_CHANNELS,
} from './live.ts';
export type { CorsOrigins, RowLimits, TxEnd } from './requests.ts';
export type { TokensConfig } from './tokens.ts';
export {
  EMBEDDED_ROLE,
  type DbrestPass,
  identityOf,
  loginRoleOf,
  DEFAULT_EMBEDDED_DIR,
} from './connection.ts';

/** The `dbrest_*` directives of one location. */
export interface DbrestConfig
  extends ConnectionConfig, TokensConfig, RequestsConfig, ConditionsConfig, LiveConfig, DbrestCacheConfig {}

/** The rows of all `dbrest_*` directives. */
export const directives = {
  ...connectionDirectives,
  ...tokensDirectives,
  ...requestsDirectives,
  ...conditionsDirectives,
  ...liveDirectives,
  ...cacheDirectives,
};
