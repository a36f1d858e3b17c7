export { ensurePrograms } from '../embedded/index.ts';
export { checkToken, decodeToken, type DecodedToken, type TokenVerdict, signToken } from './token.ts';
export { describeApi, dumpSchema, describeDatabase, readSchema } from './describe.ts';
export {
  NotThereError,
  readPass,
  type StartedServer,
  startThere,
  whileListening,
  withDatabase,
} from './open-database.ts';
export { TYPES_MEDIA } from '../request/index.ts';
export { type ApiTypes, onlySchemas, readApiTypes, typescriptOf } from '../types/index.ts';
export {
  scramVerifier,
  applySetup,
  setupStatus,
  type SetupItem,
  type StatusNames,
  nameFault,
  setupScript,
} from './setup.ts';
export { tableOf, type WatchedTable } from './watch-sql.ts';
