export { CHUNK_END, ChunkReader, chunkStart, CLIENT_CHUNKS, lastChunk, UPSTREAM_CHUNKS } from './chunks.ts';
export { connectionOptions, HOP_BY_HOP, joinConnection, keepsAlive } from './connection.ts';
export { cleanHeaderValue, isSafeHeaderName, isSafeHeaderValue, withoutBlanks } from './field.ts';
export { CHUNKED, Framing, type FramingFault, NO_LENGTH } from './framing.ts';
export {
  emptyLineAt,
  headEnd,
  headerLine,
  headerLines,
  lineOf,
  type LineReceiver,
  readHeaderLines,
} from './head.ts';
export {
  isMethod,
  mayBeRequestLine,
  readRequestLine,
  readStatusLine,
  type RequestLine,
  requestLine,
  responseLine,
} from './start-line.ts';
