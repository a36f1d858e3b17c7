import {
  END_HEADERS,
  FRAME,
  fieldBlock,
  frame,
  PREFACE,
  resetFrame,
  windowFrame,
  words,
} from '../../harness/http2-frames.ts';
import {
  continuation,
  get,
  head,
  data,
  FINE,
  fine,
  headers,
  post,
  PSEUDO,
  type Sections,
  until,
  waiting,
  WHOLE,
} from './case.ts';

const priority = (stream: number, on: number): Buffer =>
  frame(FRAME.priority, { stream, payload: Buffer.concat([words(on), Buffer.from([16])]) });
/** With a bit set in front of the stream's number. */
const reserved = (bytes: Buffer): Buffer => {
  const copy = Buffer.from(bytes);
  copy[5] = 0x80;
  return copy;
};
const withFlags = (bytes: Buffer, flags: number): Buffer => {
  const copy = Buffer.from(bytes);
  copy[4] = (copy[4] ?? 0) | flags;
  return copy;
};
/** nghttp2 does not tell Node.js of a head that it ignores. */
const IGNORED = 'nghttp2 ignores a head of a stream that is or counts as closed';
const IDLE = 'nginx 1.22 does not tell an idle stream from a closed one (5.1)';
const HALF = fieldBlock(PSEUDO).subarray(0, 20);
const REST = fieldBlock(PSEUDO).subarray(20);

/** Connections and streams. */
export const CONNECTION: Sections = {
  '3.4 HTTP/2 connection preface': [
    { it: 'serves a request that comes with the preface', sent: [get(1)], nginx: FINE },
    {
      it: 'serves a request although no settings came first',
      greeting: PREFACE,
      sent: [get(1)],
      nginx: FINE,
      gw: 'connection: PROTOCOL_ERROR',
      because: 'settings are part of the preface (3.4)',
    },
    {
      it: 'closes a connection of another preface',
      greeting: Buffer.from('PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n'),
      sent: [],
      nginx: 'connection: PROTOCOL_ERROR',
      gw: 'closed',
      because: 'the bytes are taken for HTTP/1',
    },
  ],
  '4.1 Frame format': [
    {
      it: 'ignores a frame of an unknown type',
      sent: [frame(0x16, { payload: Buffer.alloc(8) }), get(1)],
      nginx: FINE,
    },
    {
      it: 'ignores flags that a type does not have',
      sent: [withFlags(frame(FRAME.ping, { payload: Buffer.from('pingpong') }), 0x16)],
      nginx: 'pong pingpong',
    },
    { it: 'ignores the reserved bit of a frame', sent: [reserved(get(1))], nginx: FINE },
  ],
  '4.2 Frame size': [
    {
      it: 'takes a piece of a body of 16,384 bytes',
      sent: [post(1), data(1, Buffer.alloc(16_384))],
      nginx: FINE,
    },
    {
      it: 'refuses a piece that is longer than SETTINGS_MAX_FRAME_SIZE',
      sent: [post(1), data(1, Buffer.alloc(70_000))],
      nginx: FINE,
      gw: 'connection: FRAME_SIZE_ERROR',
      because: 'gw admits smaller frames than nginx, and says so in its settings',
    },
    {
      it: 'refuses a window update that is too long',
      sent: [frame(FRAME.windowUpdate, { payload: Buffer.alloc(8) })],
      nginx: 'connection: FRAME_SIZE_ERROR',
    },
  ],
  '4.3 Field section compression': [
    {
      it: 'cannot go on after a field block that cannot be read',
      sent: [head(1, WHOLE, Buffer.from([0xff, 0xff, 0xff, 0xff, 0x7f]))],
      nginx: 'connection: COMPRESSION_ERROR',
    },
    {
      it: 'wants no PRIORITY within a field block',
      sent: [
        head(1, 1, HALF),
        priority(1, 0),
        frame(FRAME.continuation, { stream: 1, flags: END_HEADERS, payload: REST }),
      ],
      nginx: 'connection: PROTOCOL_ERROR',
    },
    {
      it: 'wants no other HEADERS within a field block',
      sent: [head(1, 1, HALF), get(3)],
      nginx: 'connection: PROTOCOL_ERROR',
    },
    {
      it: 'reads a field block in two frames',
      sent: [head(1, 1, HALF), frame(FRAME.continuation, { stream: 1, flags: END_HEADERS, payload: REST })],
      nginx: FINE,
    },
  ],
  '5.1 Stream states: idle': [
    { it: 'wants no DATA', sent: [data(1, 'x')], nginx: '', gw: 'connection: PROTOCOL_ERROR', because: IDLE },
    {
      it: 'wants no RST_STREAM',
      sent: [resetFrame(1)],
      nginx: '',
      gw: 'connection: PROTOCOL_ERROR',
      because: IDLE,
    },
    {
      it: 'wants no WINDOW_UPDATE',
      sent: [windowFrame(100, 1)],
      nginx: '',
      gw: 'connection: PROTOCOL_ERROR',
      because: IDLE,
    },
    { it: 'wants no CONTINUATION', sent: [continuation(1, 'a')], nginx: 'connection: PROTOCOL_ERROR' },
    { it: 'takes PRIORITY', sent: [priority(1, 0), get(3)], nginx: '3: 200, 3: "fine"' },
  ],
  '5.1 Stream states: half-closed (remote)': [
    {
      it: 'wants no DATA',
      sent: [waiting(1), data(1, 'x')],
      nginx: '1: STREAM_CLOSED',
      gw: 'connection: STREAM_CLOSED',
      because: 'Node.js ends the connection with each error of nghttp2',
    },
    {
      it: 'wants no HEADERS',
      sent: [waiting(1), get(1)],
      nginx: 'connection: PROTOCOL_ERROR',
      gw: 'connection: STREAM_CLOSED',
      because: 'a closed side is an error of its own kind (5.1)',
    },
    {
      it: 'wants no CONTINUATION',
      sent: [waiting(1), continuation(1, 'a')],
      nginx: 'connection: PROTOCOL_ERROR',
    },
    {
      it: 'takes WINDOW_UPDATE',
      sent: [waiting(1), windowFrame(100, 1), get(3)],
      nginx: '3: 200, 3: "fine"',
    },
    { it: 'takes PRIORITY', sent: [waiting(1), priority(1, 0), get(3)], nginx: '3: 200, 3: "fine"' },
    { it: 'takes RST_STREAM', sent: [waiting(1), resetFrame(1), get(3)], nginx: '3: 200, 3: "fine"' },
  ],
  '5.1 Stream states: closed': [
    {
      it: 'wants no DATA after a reset',
      sent: [waiting(1, END_HEADERS), resetFrame(1), data(1, 'x')],
      nginx: '',
    },
    {
      it: 'wants no HEADERS after a reset',
      sent: [waiting(1, END_HEADERS), resetFrame(1), get(1)],
      nginx: 'connection: PROTOCOL_ERROR',
      gw: '',
      because: IGNORED,
    },
    {
      it: 'wants no CONTINUATION after a reset',
      sent: [waiting(1, END_HEADERS), resetFrame(1), continuation(1, 'a')],
      nginx: 'connection: PROTOCOL_ERROR',
    },
    { it: 'wants no DATA after the response', sent: [get(1), until(FINE), data(1, 'x')], nginx: FINE },
    {
      it: 'wants no HEADERS after the response',
      sent: [get(1), until(FINE), get(1)],
      nginx: '1: 200, 1: "fine", connection: PROTOCOL_ERROR',
      gw: FINE,
      because: IGNORED,
    },
    {
      it: 'wants no CONTINUATION after the response',
      sent: [get(1), until(FINE), continuation(1, 'a')],
      nginx: '1: 200, 1: "fine", connection: PROTOCOL_ERROR',
    },
    {
      it: 'takes PRIORITY, RST_STREAM and WINDOW_UPDATE',
      sent: [get(1), until(FINE), priority(1, 0), windowFrame(100, 1), resetFrame(1), get(3)],
      nginx: '1: 200, 1: "fine", 3: 200, 3: "fine"',
    },
  ],
  '5.1.1 Stream identifiers': [
    { it: 'wants no even number', sent: [get(2)], nginx: 'connection: PROTOCOL_ERROR' },
    {
      it: 'wants no number below an earlier one',
      sent: [get(5), until(fine(5)), get(3)],
      nginx: '5: 200, 5: "fine", connection: PROTOCOL_ERROR',
      gw: '5: 200, 5: "fine"',
      because: IGNORED,
    },
    { it: 'takes numbers with gaps', sent: [get(1), until(FINE), get(77)], nginx: `${FINE}, ${fine(77)}` },
  ],
  '5.1.2 Stream concurrency': [
    {
      it: 'serves no more streams at once than its settings say',
      sent: Array.from({ length: 11 }, (_, n) => waiting(1 + 2 * n)),
      nginx: '21: REFUSED_STREAM',
    },
  ],
  '5.3 Prioritization': [
    {
      it: 'wants no HEADERS whose stream depends on itself',
      sent: [head(1, WHOLE | 0x20, Buffer.concat([words(1), Buffer.from([16]), fieldBlock(PSEUDO)]))],
      nginx: 'connection: PROTOCOL_ERROR',
    },
    {
      it: 'wants no PRIORITY of a stream that depends on itself',
      sent: [priority(1, 1)],
      nginx: 'connection: PROTOCOL_ERROR',
      gw: ['connection: PROTOCOL_ERROR', ''],
      because: 'from Node.js 22 on, nghttp2 ignores PRIORITY',
    },
    {
      it: 'serves a request that depends on another',
      sent: [head(3, WHOLE | 0x20, Buffer.concat([words(1), Buffer.from([255]), fieldBlock(PSEUDO)]))],
      nginx: '3: 200, 3: "fine"',
    },
    {
      it: 'ignores PRIORITY_UPDATE',
      sent: [frame(0x10, { payload: Buffer.concat([words(1), Buffer.from('u=1')]) }), get(1)],
      nginx: FINE,
    },
  ],
  '5.4 Error handling': [
    {
      it: 'serves other streams after an error of one',
      sent: [headers(1, [...PSEUDO, ['UPPER', 'x']]), get(3)],
      nginx: '1: PROTOCOL_ERROR, 3: 200, 3: "fine"',
    },
    {
      it: 'responds to nothing after an error of the connection',
      sent: [frame(FRAME.ping, { stream: 1, payload: Buffer.alloc(8) }), get(1)],
      nginx: 'connection: PROTOCOL_ERROR',
    },
  ],
  '5.5 Extending HTTP/2': [
    {
      it: 'ignores a frame of an extension on a stream',
      sent: [post(1), frame(0x20, { stream: 1, payload: Buffer.from('?') }), data(1, 'x')],
      nginx: FINE,
    },
    {
      it: 'wants no frame of an extension within a field block',
      sent: [
        head(1, 1, HALF),
        frame(0x20, { stream: 1 }),
        frame(FRAME.continuation, { stream: 1, flags: END_HEADERS, payload: REST }),
      ],
      nginx: 'connection: PROTOCOL_ERROR',
    },
    {
      it: 'ignores an unknown setting',
      sent: [frame(FRAME.settings, { payload: Buffer.from([0, 0xff, 0, 0, 0, 1]) }), get(1)],
      nginx: 'settings, 1: 200, 1: "fine"',
    },
  ],
};
