export { type Caching, type CachingParts, compileCaching, isCached } from './cached-replies.ts';
export { openTracking, type SharedTracking, Tracking } from './tracking.ts';
