import {
  ACK,
  END_HEADERS,
  END_STREAM,
  FRAME,
  fieldBlock,
  frame,
  PREFACE,
  resetFrame,
  settingsFrame,
  windowFrame,
  words,
} from '../../harness/http2-frames.ts';
import {
  continuation,
  get,
  head,
  data,
  FINE,
  post,
  PSEUDO,
  requestFields,
  type Sections,
  until,
  waiting,
  WHOLE,
} from './case.ts';

const PADDED = 8;
const PRIORITY = 0x20;
const fields = fieldBlock(PSEUDO);
const SETTING = { push: 2, window: 4, frameSize: 5 };
const MOST_WINDOW = 2 ** 31 - 1;
const withWindow = (bytes: number): Buffer => Buffer.concat([PREFACE, settingsFrame(SETTING.window, bytes)]);

/** The frames of each type. */
export const FRAMES: Sections = {
  '6.1 DATA': [
    { it: 'is the body of a request', sent: [post(1), data(1, 'ab', 0), data(1, 'cd')], nginx: FINE },
    {
      it: 'may be padded',
      sent: [post(1), data(1, Buffer.from([3, 97, 0, 0, 0]), END_STREAM | PADDED)],
      nginx: FINE,
    },
    { it: 'may be empty', sent: [post(1), data(1, '', 0), data(1, '')], nginx: FINE },
    { it: 'belongs to no connection', sent: [data(0, 'x')], nginx: 'connection: PROTOCOL_ERROR' },
    {
      it: 'has no more padding than it has bytes',
      sent: [post(1), data(1, Buffer.from([9, 97, 0]), END_STREAM | PADDED)],
      nginx: 'connection: PROTOCOL_ERROR',
    },
  ],
  '6.2 HEADERS': [
    {
      it: 'may be padded',
      sent: [head(1, WHOLE | PADDED, Buffer.concat([Buffer.from([2]), fields, Buffer.alloc(2)]))],
      nginx: FINE,
    },
    {
      it: 'may have a priority',
      sent: [head(1, WHOLE | PRIORITY, Buffer.concat([words(0), Buffer.from([1]), fields]))],
      nginx: FINE,
    },
    { it: 'belongs to no connection', sent: [head(0, WHOLE, fields)], nginx: 'connection: PROTOCOL_ERROR' },
    {
      it: 'has no more padding than it has bytes',
      sent: [head(1, WHOLE | PADDED, Buffer.concat([Buffer.from([200]), fields]))],
      nginx: 'connection: PROTOCOL_ERROR',
    },
    {
      it: 'is followed by CONTINUATION if its block goes on',
      sent: [head(1, END_STREAM, fields), data(1, 'x')],
      nginx: 'connection: PROTOCOL_ERROR',
    },
  ],
  '6.3 PRIORITY': [
    {
      it: 'belongs to no connection',
      sent: [frame(FRAME.priority, { payload: Buffer.alloc(5) })],
      nginx: 'connection: PROTOCOL_ERROR',
      gw: ['connection: PROTOCOL_ERROR', ''],
      because: 'from Node.js 22 on, nghttp2 ignores PRIORITY',
    },
    {
      it: 'has five bytes',
      sent: [frame(FRAME.priority, { stream: 1, payload: Buffer.alloc(4) })],
      nginx: 'connection: FRAME_SIZE_ERROR',
    },
  ],
  '6.4 RST_STREAM': [
    { it: 'ends its stream only', sent: [waiting(1), resetFrame(1), get(3)], nginx: '3: 200, 3: "fine"' },
    { it: 'belongs to no connection', sent: [resetFrame(0)], nginx: 'connection: PROTOCOL_ERROR' },
    {
      it: 'has four bytes',
      sent: [waiting(1), frame(FRAME.reset, { stream: 1, payload: Buffer.alloc(3) })],
      nginx: 'connection: FRAME_SIZE_ERROR',
    },
  ],
  '6.5 SETTINGS': [
    {
      it: 'is acknowledged each time',
      sent: [settingsFrame(), settingsFrame()],
      nginx: 'settings, settings',
    },
    {
      it: 'has no payload as an acknowledgement',
      sent: [frame(FRAME.settings, { flags: ACK, payload: Buffer.alloc(6) })],
      nginx: 'connection: FRAME_SIZE_ERROR',
    },
    {
      it: 'belongs to no stream',
      sent: [frame(FRAME.settings, { stream: 1 })],
      nginx: 'connection: PROTOCOL_ERROR',
    },
    {
      it: 'has six bytes per setting',
      sent: [frame(FRAME.settings, { payload: Buffer.alloc(5) })],
      nginx: 'connection: FRAME_SIZE_ERROR',
    },
    {
      it: 'has 0 or 1 for SETTINGS_ENABLE_PUSH',
      sent: [settingsFrame(SETTING.push, 2)],
      nginx: 'connection: PROTOCOL_ERROR',
    },
    {
      it: 'has no window above the largest one',
      sent: [settingsFrame(SETTING.window, 2 ** 31)],
      nginx: 'connection: FLOW_CONTROL_ERROR',
    },
    {
      it: 'has no size of frames below 16,384',
      sent: [settingsFrame(SETTING.frameSize, 16_383)],
      nginx: 'connection: PROTOCOL_ERROR',
    },
    {
      it: 'has no size of frames above 16,777,215',
      sent: [settingsFrame(SETTING.frameSize, 2 ** 24)],
      nginx: 'connection: PROTOCOL_ERROR',
    },
    {
      it: 'counts with its last value',
      sent: [settingsFrame(SETTING.window, 100, SETTING.window, 1), get(1), until('"f"')],
      nginx: 'settings, 1: 200, 1: "f"',
    },
  ],
  '6.6 PUSH_PROMISE': [
    {
      it: 'is not for clients',
      sent: [
        waiting(1, END_HEADERS),
        frame(FRAME.pushPromise, {
          stream: 1,
          flags: END_HEADERS,
          payload: Buffer.concat([words(3), fields]),
        }),
      ],
      nginx: 'connection: PROTOCOL_ERROR',
    },
  ],
  '6.7 PING': [
    {
      it: 'is sent back',
      sent: [frame(FRAME.ping, { payload: Buffer.from('pingpong') })],
      nginx: 'pong pingpong',
    },
    {
      it: 'is not sent back as an acknowledgement',
      sent: [frame(FRAME.ping, { flags: ACK, payload: Buffer.from('unsought') })],
      nginx: '',
      gw: 'connection: PROTOCOL_ERROR',
      because: 'Node.js takes it for an error',
    },
    {
      it: 'belongs to no stream',
      sent: [frame(FRAME.ping, { stream: 1, payload: Buffer.alloc(8) })],
      nginx: 'connection: PROTOCOL_ERROR',
    },
    {
      it: 'has eight bytes',
      sent: [frame(FRAME.ping, { payload: Buffer.alloc(6) })],
      nginx: 'connection: FRAME_SIZE_ERROR',
    },
  ],
  '6.8 GOAWAY': [
    {
      it: 'belongs to no stream',
      sent: [frame(FRAME.goaway, { stream: 1, payload: words(0, 0) })],
      nginx: 'connection: PROTOCOL_ERROR',
    },
    {
      it: 'does not keep a request from being served',
      sent: [get(1), frame(FRAME.goaway, { payload: words(0, 0) })],
      nginx: FINE,
      gw: `${FINE}, closed`,
      because: 'Node.js closes a connection whose client does',
    },
  ],
  '6.9 WINDOW_UPDATE': [
    {
      it: 'gives more than nothing to the connection',
      sent: [windowFrame(0)],
      nginx: 'connection: PROTOCOL_ERROR',
    },
    {
      it: 'gives more than nothing to a stream',
      sent: [waiting(1), windowFrame(0, 1)],
      nginx: 'connection: PROTOCOL_ERROR',
    },
    {
      it: 'has four bytes',
      sent: [frame(FRAME.windowUpdate, { payload: Buffer.alloc(3) })],
      nginx: 'connection: FRAME_SIZE_ERROR',
    },
    {
      it: 'lets a body go on that had no window',
      greeting: withWindow(1),
      sent: [get(1), until('"f"'), windowFrame(100, 1)],
      nginx: '1: 200, 1: "f", 1: "ine"',
    },
    {
      it: 'makes no window of a connection too large',
      sent: [windowFrame(MOST_WINDOW)],
      nginx: 'connection: FLOW_CONTROL_ERROR',
    },
    {
      it: 'makes no window of a stream too large',
      sent: [waiting(1), windowFrame(MOST_WINDOW, 1)],
      nginx: '1: FLOW_CONTROL_ERROR',
      gw: ['1: FLOW_CONTROL_ERROR, connection: FLOW_CONTROL_ERROR', 'connection: FLOW_CONTROL_ERROR'],
      because: 'Node.js ends the connection with each error of nghttp2',
    },
    {
      it: 'comes from settings, too',
      greeting: withWindow(0),
      sent: [get(1), until('200'), settingsFrame(SETTING.window, 1)],
      nginx: '1: 200, settings, 1: "f"',
    },
    {
      it: 'counts from below nothing if settings have made it so',
      greeting: withWindow(3),
      sent: [get(1), until('"fin"'), settingsFrame(SETTING.window, 2), windowFrame(2, 1)],
      nginx: '1: 200, 1: "fin", settings, 1: "e"',
    },
  ],
  '6.10 CONTINUATION': [
    {
      it: 'goes on with a block as often as needed',
      sent: [head(1, END_STREAM, fields), continuation(1, 'a', 0), continuation(1, 'b')],
      nginx: FINE,
    },
    {
      it: 'is followed by no other frame',
      sent: [head(1, END_STREAM, fields), continuation(1, 'a', 0), data(1, 'x')],
      nginx: 'connection: PROTOCOL_ERROR',
    },
    {
      it: 'belongs to no connection',
      sent: [head(1, END_STREAM, fields), continuation(0, 'a')],
      nginx: 'connection: PROTOCOL_ERROR',
    },
    {
      it: 'belongs to the stream of its block',
      sent: [head(1, END_STREAM, fields), continuation(3, 'a')],
      nginx: 'connection: PROTOCOL_ERROR',
    },
    {
      it: 'does not follow a whole block',
      sent: [waiting(1, END_HEADERS), continuation(1, 'a')],
      nginx: 'connection: PROTOCOL_ERROR',
    },
    {
      it: 'does not follow the end of a block',
      sent: [head(1, 0, fieldBlock(requestFields('/wait'))), continuation(1, 'a'), continuation(1, 'b')],
      nginx: 'connection: PROTOCOL_ERROR',
    },
    {
      it: 'does not follow DATA',
      sent: [post(1), data(1, 'x', 0), continuation(1, 'a')],
      nginx: 'connection: PROTOCOL_ERROR',
    },
  ],
  '7 Error codes': [
    {
      it: 'may be unknown in RST_STREAM',
      sent: [waiting(1), frame(FRAME.reset, { stream: 1, payload: words(0xff) }), get(3)],
      nginx: '3: 200, 3: "fine"',
    },
    {
      it: 'may be unknown in GOAWAY',
      sent: [frame(FRAME.goaway, { payload: words(0, 0xff) })],
      nginx: '',
      gw: 'closed',
      because: 'Node.js closes a connection whose client does',
    },
  ],
};
