export { connect, isPooled, limitedQuery, loadPg, PID_SQL, sayUnreachable, withClient } from './connect.ts';
export {
  addressOf,
  type Attempt,
  connectionAttempts,
  ConnectTimeout,
  hasLostObject,
  isStatementError,
  type Pg,
  publicMessage,
  sendCancel,
  type WireClient,
  type WireError,
} from './connection.ts';
export { type ConnectionTarget, type Host, processSurroundings, readDsn, targetName } from './dsn.ts';
export { normalizedSql, shownSql } from './normalized-sql.ts';
export { type AddressedPooler, poolerAt } from './poolers.ts';
export { literal, quoteIdentifier } from './quoting.ts';
export { Pool, type PoolBounds, type PoolLevel, PoolRefusal } from './pool.ts';
