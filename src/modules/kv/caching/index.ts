export { type Caching, type CachingParts, compileCaching, isCached, STORED } from './cached-replies.ts';
export { openTracking, type SharedTracking, Tracking } from './tracking.ts';
