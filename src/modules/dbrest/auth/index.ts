export type { Authenticator, Identity } from './authenticator.ts';
export { readKeySource } from './key-source.ts';
export type { KeySource } from './key-source.ts';
export { openAuthenticator } from './open-authenticator.ts';
export { readRolePath } from './role-path.ts';
export type { RolePath } from './role-path.ts';
