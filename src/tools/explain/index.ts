export type { Account, AccountRound } from './account.ts';
export { explain } from './explain.ts';
export type { ExplainedConfig } from './server.ts';
export type { ExplainQuery } from './query.ts';
export { printAccount } from './print.ts';
