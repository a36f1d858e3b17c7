export { type CertificateCache, certificateFiles, type FileVersion } from './certificate-files.ts';
export { accountOfId, findAccount, findGroup, type Account } from './accounts.ts';
export { systemFailure, systemReason, unreachableReason } from './failure.ts';
export { helperEnvironment } from './helper-environment.ts';
export { intermediatesOf, ocspResponderOf, passphraseOf, splitPem, verifyError } from './openssl.ts';
export {
  appendAsRoot,
  chmodSocket,
  give,
  openAsRoot,
  openToAppend,
  removeAsRoot,
  rootPath,
} from './root-files.ts';
export { type Key, openKey, readCertificate, readKey, readText, TlsFault, tryContext } from './pair.ts';
export { replaceDurably } from './replace-durably.ts';
export { sharesPorts } from './shares-ports.ts';
export { beginReading, type ReadFile, readerOf } from './read-once.ts';
