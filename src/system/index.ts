export {
  type CertificateCache,
  certificateFiles,
  type FileVersion,
  intermediatesOf,
  type Key,
  ocspResponderOf,
  openKey,
  passphraseOf,
  readCertificate,
  readKey,
  readText,
  splitPem,
  TlsFault,
  tryContext,
  verifyError,
  UNKNOWN_AUTHORITY,
} from './certificates.ts';
export { makeDirectory, makeDirectorySync } from './directories.ts';
export { flushAtEndOfTurn } from './end-of-turn.ts';
export { systemFailure, systemReason, unreachableReason } from './failure.ts';
export { beginReading, type ReadFile, readerOf, removeLeftovers, replaceDurably } from './files.ts';
export { descriptorOfLocalPort, listeningSockets, listensAt, listensOn } from './listening-sockets.ts';
export {
  type Account,
  accountOfId,
  findAccount,
  findGroup,
  helperEnvironment,
  isAlive,
  sharesPorts,
} from './processes.ts';
export {
  appendAsRoot,
  chmodSocket,
  give,
  openAsRoot,
  openToAppend,
  removeAsRoot,
  rootPath,
} from './root-files.ts';
export { contextOptions, type ContextSettings } from './tls-context.ts';
export { type FileContent, readParsed, WatchedFiles } from './watched-files.ts';
export { UnsentBytes } from './unsent-bytes.ts';
export { countOpenFiles, openFilesLimit, raiseOpenFilesLimit, openThreadClock } from './open-files.ts';
