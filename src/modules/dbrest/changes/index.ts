export { ChangeFeed } from './change-feed.ts';
export { type LiveReadSteps, LiveReads } from './live-reads.ts';
