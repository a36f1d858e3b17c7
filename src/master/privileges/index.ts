export { servingAccount } from './account.ts';
export { KeeperLine } from './keeper-line.ts';
export { KeptPrivileges } from './kept.ts';
export { ownPrivileges } from './own.ts';
export type { Privileges } from './privileges.ts';
