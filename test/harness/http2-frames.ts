import { connect } from 'node:net';
import { once } from 'node:events';

/** Types of frames (RFC 9113, 6). */
export const FRAME = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const END_STREAM = 1;
export const END_HEADERS = 4;
/** Of settings and of a ping. */
export const ACK = 1;
/** What a client begins with (RFC 9113, 3.4). */
export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

/** The parts of a frame besides its type. */
interface FrameParts {
  /** 0: the connection. */
  readonly stream?: number;
  readonly flags?: number;
  readonly payload?: Uint8Array;
}

/** One frame. */
export function frame(
  type: number,
  { stream = 0, flags = 0, payload = Buffer.alloc(0) }: FrameParts = {},
): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** A field block in HPACK: literals without indexing and without Huffman code (RFC 7541, 6.2.2). */
export function fieldBlock(fields: readonly (readonly [string, string])[]): Buffer {
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]));
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1');
  const length = bytes.length < 127 ? [bytes.length] : [127, ...sevenBits(bytes.length - 127)];
  return Buffer.concat([Buffer.from(length), bytes]);
}

function sevenBits(number: number): number[] {
  return number < 128 ? [number] : [(number % 128) + 128, ...sevenBits(Math.floor(number / 128))];
}

/** Headers of a GET. By default they end the stream. */
export function getFrame(stream: number, path: string, flags = END_STREAM | END_HEADERS): Buffer {
  const payload = fieldBlock([
    [':method', 'GET'],
    [':scheme', 'http'],
    [':path', path],
    [':authority', 'a.example'],
  ]);
  return frame(FRAME.headers, { flags, stream, payload });
}

export function resetFrame(stream: number): Buffer {
  return frame(FRAME.reset, { stream, payload: Buffer.from([0, 0, 0, 8]) });
}

/** Returns 32-bit numbers as bytes. */
export function words(...numbers: number[]): Buffer {
  const bytes = Buffer.alloc(4 * numbers.length);
  numbers.forEach((number, index) => bytes.writeUInt32BE(number, 4 * index));
  return bytes;
}

/** A frame that gives more of the window; stream 0: of the connection's. */
export function windowFrame(bytes: number, stream = 0): Buffer {
  return frame(FRAME.windowUpdate, { stream, payload: words(bytes) });
}

/** The acknowledgement of settings or a ping; `undefined` for other frames. */
export function acknowledgement({ type, flags, payload }: ReceivedFrame): Buffer | undefined {
  if ((flags & ACK) !== 0) return undefined;
  if (type === FRAME.settings) return frame(type, { flags: ACK });
  return type === FRAME.ping ? frame(type, { flags: ACK, payload }) : undefined;
}

export interface ReceivedFrame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

const FRAME_HEAD_BYTES = 9;

/** Makes frames of the bytes of a connection. */
export class FrameReader {
  /** Bytes that are not part of a frame: the preface, which a server receives. */
  #skippedBytes: number;
  #rest: Buffer = Buffer.alloc(0);

  constructor({ skippedBytes = 0 } = {}) {
    this.#skippedBytes = skippedBytes;
  }

  /** The frames that are whole now. */
  read(bytes: Buffer): readonly ReceivedFrame[] {
    const behind = bytes.subarray(this.#skippedBytes);
    this.#skippedBytes -= bytes.length - behind.length;
    const all = this.#rest.length === 0 ? behind : Buffer.concat([this.#rest, behind]);
    const frames: ReceivedFrame[] = [];
    let at = 0;
    while (at + FRAME_HEAD_BYTES <= all.length) {
      const end = at + FRAME_HEAD_BYTES + all.readUIntBE(at, 3);
      if (end > all.length) break;
      const [type = 0, flags = 0] = all.subarray(at + 3, at + 5);
      const stream = all.readUInt32BE(at + 5) & 0x7fffffff;
      frames.push({ type, flags, stream, payload: all.subarray(at + FRAME_HEAD_BYTES, end) });
      at = end;
    }
    this.#rest = all.subarray(at);
    return frames;
  }
}

/** A client that sends exactly the given frames. */
export interface RawHttp2 {
  send(...frames: readonly Uint8Array[]): void;
  readonly frames: readonly ReceivedFrame[];
  readonly isClosed: boolean;
  /** Stops reading. */
  stall(): void;
  /** Sends FIN. */
  end(): void;
  destroy(): void;
}

/** A SETTINGS frame of `settings` (identifier, value, …). */
export function settingsFrame(...settings: readonly number[]): Buffer {
  const payload = Buffer.alloc(settings.length * 3);
  for (let at = 0; at < settings.length; at += 2) {
    payload.writeUInt16BE(settings[at] as number, at * 3);
    payload.writeUInt32BE(settings[at + 1] as number, at * 3 + 2);
  }
  return frame(FRAME.settings, { payload });
}

/** Opens a connection and sends the preface and `settings` (identifier, value, …). */
export function openFrames(port: number, settings: readonly number[] = []): Promise<RawHttp2> {
  return openHttp2Bytes(port, Buffer.concat([PREFACE, settingsFrame(...settings)]));
}

/** Opens a connection and sends `greeting` first. */
export async function openHttp2Bytes(port: number, greeting: Uint8Array): Promise<RawHttp2> {
  const socket = connect({ port, host: '127.0.0.1' });
  await once(socket, 'connect');
  const frames: ReceivedFrame[] = [];
  let isClosed = false;
  const reader = new FrameReader();
  socket.on('error', () => undefined).on('close', () => (isClosed = true));
  socket.on('data', (bytes: Buffer) => frames.push(...reader.read(bytes)));
  socket.write(greeting);
  return {
    send: (...sent) => void socket.write(Buffer.concat(sent)),
    frames,
    get isClosed() {
      return isClosed;
    },
    stall: () => void socket.pause(),
    end: () => void socket.end(),
    destroy: () => void socket.destroy(),
  };
}
