export { servingAccount } from './account.ts';
export { KeeperChannel } from './keeper-channel.ts';
export { KeptPrivileges } from './kept-privileges.ts';
export { ownPrivileges } from './own-privileges.ts';
export type { Privileges } from './privileges.ts';
