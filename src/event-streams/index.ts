export { beginStream, dataLines, prefersStream } from './begin.ts';
export { EventStream, firstGeneration } from './event-stream.ts';
export { Feed } from './feed.ts';
export { COMMENT, Heartbeat } from './heartbeat.ts';
export { OpenStreams } from './open-streams.ts';
