import type { RedisOptions } from 'ioredis';
import type { Endpoint } from './address.ts';

const KEEP_ALIVE_MS = 30_000;
/** What broke may be there again at once; what cannot be reached is asked ever more rarely. */
const retryDelayMs = (attempt: number): number => Math.min(50 * (attempt - 1), 500);

/** ioredis with everything off that resends, queues or speaks by itself (reliability.md, 4d). */
export function clientOptions(
  endpoint: Endpoint,
  connectTimeoutMs: number,
): Omit<RedisOptions, 'replyMapping'> {
  const { username, password, db, tls } = endpoint;
  return {
    ...(endpoint.kind === 'unix' ? { path: endpoint.path } : { host: endpoint.host, port: endpoint.port }),
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(db !== undefined && { db }),
    ...(tls && { tls: {} }),
    protocol: 2,
    stringNumbers: true,
    connectTimeout: connectTimeoutMs,
    keepAlive: KEEP_ALIVE_MS,
    retryStrategy: retryDelayMs,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    enableReadyCheck: false,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    disableClientInfo: true,
  };
}
