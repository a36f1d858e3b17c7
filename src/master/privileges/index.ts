export { KeeperChannel, KeptPrivileges } from './kept-privileges.ts';
export { ownPrivileges, type Privileges } from './privileges.ts';
