import type { Writable } from 'node:stream';
import type { Bytes } from './store.ts';

/**
 * Commands that leave together, as RESP2 arrays of bulk strings. Every argument goes with its length in bytes, so
 * nothing in it can become another frame (https://redis.io/docs/latest/develop/reference/protocol-spec/).
 */
export class RespWriter {
  #text = '';
  /** Such text is copied to the socket as it is, which is cheaper than encoding it. */
  #isAscii = true;
  readonly #pieces: Bytes[] = [];

  /** `name` is a command of ours; the arguments may be anybody's. */
  add(name: string, args: readonly Bytes[]): void {
    let text = `*${args.length + 1}\r\n$${name.length}\r\n${name}\r\n`;
    for (const arg of args) {
      if (typeof arg === 'string') {
        const size = Buffer.byteLength(arg);
        if (size !== arg.length) this.#isAscii = false;
        text += `$${size}\r\n${arg}\r\n`;
      } else {
        this.#pieces.push(`${this.#text}${text}$${arg.length}\r\n`, arg);
        this.#text = '';
        text = '\r\n';
      }
    }
    this.#text += text;
  }

  /** Writes what was added in one go, and forgets it. */
  flush(socket: Writable): void {
    // A command ends with text, so without text there is none.
    if (this.#text === '') return;
    const encoding = this.#isAscii ? 'latin1' : 'utf8';
    if (this.#pieces.length === 0) socket.write(this.#text, encoding);
    else {
      socket.cork();
      for (const piece of this.#pieces) socket.write(piece, encoding);
      socket.write(this.#text, encoding);
      socket.uncork();
    }
    this.clear();
  }

  clear(): void {
    this.#text = '';
    this.#isAscii = true;
    this.#pieces.length = 0;
  }
}
