import { connect, type Socket } from 'node:net';

const HEAD_END = Buffer.from('\r\n\r\n');
const LAST_CHUNK = Buffer.from('0\r\n\r\n');
const READ_BYTES = 65_536;
/** The first digit of the status in `HTTP/1.1 200 OK`. */
const STATUS_AT = 9;
const TWO = 0x32;

/** A connection that is kept, with at most one request under way. */
export class Connection {
  readonly #socket: Socket;
  readonly #fail: (reason: string) => void;
  /** What came of a response that is not whole yet. */
  #begun: Buffer | undefined;
  #onResponse: (() => void) | undefined;
  /** Length of the last response: most have the same, and need no reading then. */
  #usualBytes = 0;

  /** `fail` gets what must not happen: another status than 2xx, or the end of the connection. */
  constructor(port: number, opened: (connection: Connection) => void, fail: (reason: string) => void) {
    this.#fail = fail;
    // One buffer for all reads: a stream would allocate one for each.
    const callback = (length: number, bytes: Uint8Array): boolean => {
      this.#read(Buffer.from(bytes.buffer, bytes.byteOffset, length));
      return true;
    };
    const onread = { buffer: Buffer.allocUnsafeSlow(READ_BYTES), callback };
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true, onread }, () => opened(this));
    this.#socket.on('error', (error) => fail(error.message));
    this.#socket.on('close', () => fail('the server closed a connection'));
  }

  send(request: Buffer, onResponse: () => void): void {
    this.#onResponse = onResponse;
    this.#socket.write(request);
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
