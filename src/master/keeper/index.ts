export { Keeper } from './keeper.ts';
export type { BoundSocket } from './keeper.ts';
export type {
  FromKeeper,
  FromLoader,
  Holdings,
  KeeperAnswer,
  KeeperQuestion,
  LoaderQuestion,
  NamedAddress,
  ToKeeper,
} from './protocol.ts';
