export { Locations } from './locations.ts';
export { LocationTree, wayTo } from './tree.ts';
export type { Level, Place } from './tree.ts';
export { reachOf } from './reach.ts';
export type { Asking, Reach, Taken } from './reach.ts';
export { named, shownUri, wordsOf } from './shown.ts';
export { answerOf, isRefusal, isSame, ownAnswer, ownGuard, refuses } from './answers.ts';
