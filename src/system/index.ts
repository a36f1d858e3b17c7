export { accountOfId, findAccount, findGroup, type Account } from './accounts.ts';
export { systemFailure, systemReason } from './failure.ts';
export { chmodSocket, openAsRoot, rootPath } from './root-files.ts';
