import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { HttpRequest } from '../../target.ts';
import type { Lane, LaneEvents, OpenLanes } from './lane.ts';

const HEAD_END = Buffer.from('\r\n\r\n');
const LAST_CHUNK = Buffer.from('0\r\n\r\n');
const READ_BYTES = 65_536;
/** The first digit of the status in `HTTP/1.1 200 OK`. */
const STATUS_AT = 9;
const TWO = 0x32;

/** One connection for each lane, which is kept. */
export function openHttpLanes(
  { port, requests, lanes }: Parameters<OpenLanes>[0],
  events: LaneEvents,
  isSecure: boolean,
): void {
  const texts = requests.map(textOf);
  for (let lane = 0; lane < lanes; lane++) {
    const connection = new Connection({ port, isSecure }, () => events.opened(kept), events.failed);
    const kept: Lane = {
      send: (turn, onResponse) => connection.send(texts[turn % texts.length] as Buffer, onResponse),
    };
  }
}

/** One connection with TLS and a full handshake for each request. */
export const openHandshakeLanes: OpenLanes = ({ port, requests, lanes }, { opened, failed }) => {
  const texts = requests.map(textOf);
  const lane: Lane = {
    send(turn, onResponse) {
      const text = texts[turn % texts.length] as Buffer;
      const connection = new Connection(
        { port, isSecure: true },
        () =>
          connection.send(text, () => {
            connection.end();
            onResponse();
          }),
        failed,
      );
    },
  };
  for (let count = 0; count < lanes; count++) opened(lane);
};

/** A connection with at most one request under way. */
class Connection {
  readonly #socket: Socket;
  readonly #fail: (reason: string) => void;
  /** What came of a response that is not whole yet. */
  #begun: Buffer | undefined;
  #onResponse: (() => void) | undefined;
  /** Length of the last response: most have the same, and need no reading then. */
  #usualBytes = 0;
  #isEnded = false;

  constructor(
    { port, isSecure }: { readonly port: number; readonly isSecure: boolean },
    opened: () => void,
    failed: (reason: string) => void,
  ) {
    this.#fail = (reason) => void (this.#isEnded || failed(reason));
    // One buffer for all reads: a stream would allocate one for each.
    const callback = (length: number, bytes: Uint8Array): boolean => {
      this.#read(Buffer.from(bytes.buffer, bytes.byteOffset, length));
      return true;
    };
    const onread = { buffer: Buffer.allocUnsafeSlow(READ_BYTES), callback };
    const where = { port, host: '127.0.0.1', noDelay: true, onread };
    this.#socket = isSecure
      ? connectTls({ ...where, rejectUnauthorized: false }, opened)
      : connect(where, opened);
    this.#socket.on('error', (error) => this.#fail(error.message));
    this.#socket.on('close', () => this.#fail('the server closed a connection'));
  }

  send(request: Buffer, onResponse: () => void): void {
    this.#onResponse = onResponse;
    this.#socket.write(request);
  }

  end(): void {
    this.#isEnded = true;
    this.#socket.end();
  }

  #read(bytes: Buffer): void {
    const done = this.#onResponse;
    // Webdis sends to new clients what those that left had asked for.
    if (done === undefined) return;
    const isUsual =
      this.#begun === undefined && bytes.length === this.#usualBytes && bytes[STATUS_AT] === TWO;
    if (!isUsual) {
      const all = this.#begun === undefined ? bytes : Buffer.concat([this.#begun, bytes]);
      if (!this.#isWhole(all)) {
        this.#begun = Buffer.from(all);
        return;
      }
      this.#begun = undefined;
      this.#usualBytes = all.length;
    }
    this.#onResponse = undefined;
    done();
  }

  #isWhole(bytes: Buffer): boolean {
    const end = bytes.indexOf(HEAD_END);
    if (end === -1) return false;
    const head = bytes.toString('latin1', 0, end);
    if (bytes[STATUS_AT] !== TWO) this.#fail(`a response: ${head}`);
    const [, length] = /\r\ncontent-length: *(\d+)/i.exec(head) ?? [];
    if (length !== undefined) return bytes.length >= end + HEAD_END.length + Number(length);
    // Without a length there is a body only in chunks; no text here ends like a last chunk.
    return !/\r\ntransfer-encoding:/i.test(head) || bytes.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK);
  }
}

function textOf({ method = 'GET', path, headers = {}, body }: HttpRequest): Buffer {
  const length = body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) };
  const fields = Object.entries({ Host: '127.0.0.1', ...headers, ...length });
  const lines = [`${method} ${path} HTTP/1.1`, ...fields.map(([name, value]) => `${name}: ${value}`)];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body ?? ''}`);
}
