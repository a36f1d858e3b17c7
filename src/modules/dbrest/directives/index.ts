import { cacheDirectives, type DbrestCacheConfig } from './caching.ts';
import { type ConditionsConfig, conditionsDirectives } from './conditions.ts';
import { type ConnectionConfig, connectionDirectives } from './connection.ts';
import { type DatabaseSettingsConfig, databaseSettingsDirectives } from './database-settings.ts';
import { type LiveConfig, liveDirectives } from './live.ts';
import { type RequestsConfig, requestsDirectives } from './requests.ts';
import { type TokensConfig, tokensDirectives } from './tokens.ts';

export type { DbrestCacheConfig } from './caching.ts';
export { DEFAULT_LISTEN_ENTRIES, type LiveConfig } from './live.ts';
export type { TxEnd } from './requests.ts';
export type { TokensConfig } from './tokens.ts';

/** The `dbrest_*` directives of one location. */
export interface DbrestConfig
  extends
    ConnectionConfig,
    TokensConfig,
    RequestsConfig,
    ConditionsConfig,
    LiveConfig,
    DbrestCacheConfig,
    DatabaseSettingsConfig {}

/** The rows of all `dbrest_*` directives. */
export const directives = {
  ...connectionDirectives,
  ...tokensDirectives,
  ...requestsDirectives,
  ...conditionsDirectives,
  ...liveDirectives,
  ...cacheDirectives,
  ...databaseSettingsDirectives,
};
