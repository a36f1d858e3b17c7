export { become, checkProgram, checkWritable, servingAccount } from './account.ts';
export { handOver, holdingsOf, portsOfRoot } from './holdings.ts';
export type {
  FromKeeper,
  FromLoader,
  Holdings,
  KeeperAnswer,
  KeeperQuestion,
  LoaderQuestion,
  ToKeeper,
} from './protocol.ts';
