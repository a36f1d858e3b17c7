export { accountOfId, findAccount, findGroup, type Account } from './accounts.ts';
export { systemFailure, systemReason, unreachableReason } from './failure.ts';
export { helperEnvironment } from './helper-environment.ts';
export { intermediatesOf, ocspResponderOf, verifyError } from './openssl.ts';
export { chmodSocket, openAsRoot, rootPath } from './root-files.ts';
export { sharesPorts } from './shares-ports.ts';
export { type ReadFile, readerOf } from './read-once.ts';
