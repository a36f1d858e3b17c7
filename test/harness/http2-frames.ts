import { connect } from 'node:net';
import { once } from 'node:events';

/** Types of frames (RFC 9113, 6). */
export const FRAME = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const END_STREAM = 1;
export const END_HEADERS = 4;
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

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

interface ReceivedFrame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
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

/** Opens a connection and sends the preface and `settings` (identifier, value, …). */
export async function openFrames(port: number, settings: readonly number[] = []): Promise<RawHttp2> {
  const socket = connect({ port, host: '127.0.0.1' });
  await once(socket, 'connect');
  const frames: ReceivedFrame[] = [];
  let isClosed = false;
  let rest: Buffer = Buffer.alloc(0);
  socket.on('error', () => undefined).on('close', () => (isClosed = true));
  socket.on('data', (bytes: Buffer) => {
    rest = Buffer.concat([rest, bytes]);
    for (let size = sizeOf(rest); size <= rest.length; size = sizeOf(rest)) {
      const [type = 0, flags = 0] = rest.subarray(3, 5);
      frames.push({ type, flags, stream: rest.readUInt32BE(5), payload: rest.subarray(9, size) });
      rest = rest.subarray(size);
    }
  });
  const payload = Buffer.alloc(settings.length * 3);
  for (let at = 0; at < settings.length; at += 2) {
    payload.writeUInt16BE(settings[at] as number, at * 3);
    payload.writeUInt32BE(settings[at + 1] as number, at * 3 + 2);
  }
  socket.write(Buffer.concat([PREFACE, frame(FRAME.settings, { payload })]));
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

/** Size of the first frame; `Infinity` if its head is incomplete. */
function sizeOf(bytes: Buffer): number {
  return bytes.length < 9 ? Infinity : 9 + bytes.readUIntBE(0, 3);
}
