export { openStreams, zonesOf } from './stream-zones.ts';
export { compileStreams, compileStreamTest, type StreamResources } from './streams.ts';
