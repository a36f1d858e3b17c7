export {
  become,
  checkLogs,
  checkProgram,
  checkWritable,
  logFaults,
  servingAccount,
  writeFaults,
} from './account.ts';
export { handOver, holdingsOf, openLogs, portsOfRoot } from './holdings.ts';
export type {
  FromKeeper,
  FromLoader,
  HandedLogs,
  Holdings,
  KeeperAnswer,
  KeeperQuestion,
  LoaderQuestion,
  OpenedLogs,
  ToKeeper,
} from './protocol.ts';
