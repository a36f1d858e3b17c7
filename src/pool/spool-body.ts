import { rm } from 'node:fs/promises';
import type { Exchange } from '../http/index.ts';
import { SpoolFile } from './spool-file.ts';

/** What decides where a body is kept; the core's configuration of a location has it. */
export interface SpoolRules {
  /** Up to this size in memory, beyond in a file. */
  readonly bodyBufferBytes: number;
  readonly bodyTempPath?: { readonly path: string; readonly levels: readonly number[] } | undefined;
  /** `clean` and `on`: always in a file with a name; `on` leaves it there. */
  readonly bodyInFileOnly: 'off' | 'clean' | 'on';
}

/** A request body that came whole and can be sent several times. */
export interface SpooledBody {
  readonly length: number;
  /** All of it, unless it is in a file. */
  readonly bytes: Buffer | undefined;
  /** Of the file, where it has a name: `$request_body_file`. */
  readonly path: string | undefined;
  /** From the first byte to the last, in pieces that the caller may keep. */
  pieces(): AsyncIterable<Buffer>;
  /** Frees the file; what is in memory stays readable. To be called once the request needs the body no more. */
  close(): Promise<void>;
}

/** What it takes of an exchange. */
export type BodySource = Pick<Exchange, 'readPieces' | 'setState'>;

const SPOOLED = Symbol('spooled body');

/** What `spoolBody` kept of a request, for the variables that show it. */
export function spooledBody(x: Pick<Exchange, 'state'>): SpooledBody | undefined {
  return x.state<SpooledBody>(SPOOLED);
}

/**
 * Takes the whole request body, in bounded memory: the client waits while a file is written. `undefined` when the exchange
 * was answered instead (413, 408) or the client is gone: the caller just returns. Fails with an `HttpFault` when the file
 * cannot be written.
 */
export async function spoolBody(x: BodySource, rules: SpoolRules): Promise<SpooledBody | undefined> {
  const spool = new BodySpool(rules);
  try {
    if (await x.readPieces((piece) => spool.add(piece))) {
      const body = spool.finish();
      x.setState(SPOOLED, body);
      return body;
    }
  } catch (error) {
    await spool.discard();
    throw error;
  }
  await spool.discard();
  return undefined;
}

class BodySpool {
  readonly #rules: SpoolRules;
  #waiting: Buffer[] = [];
  #length = 0;
  #file: SpoolFile | undefined;
  /** The client may leave before the file is there. */
  #opening: Promise<SpoolFile> | undefined;

  constructor(rules: SpoolRules) {
    this.#rules = rules;
  }

  add(piece: Buffer): void | Promise<void> {
    this.#length += piece.byteLength;
    if (this.#file) return this.#file.append(piece);
    this.#waiting.push(piece);
    if (this.#length > this.#rules.bodyBufferBytes || this.#rules.bodyInFileOnly !== 'off')
      return this.#spill();
  }

  finish(): SpooledBody {
    if (this.#file) return new BodyInFile(this.#file, this.#length, this.#rules.bodyInFileOnly);
    const [only] = this.#waiting;
    return new BodyInMemory(only && this.#waiting.length === 1 ? only : Buffer.concat(this.#waiting));
  }

  /** Nobody will want it. */
  async discard(): Promise<void> {
    const file = await this.#opening?.catch(() => undefined);
    if (!file) return;
    await file.close();
    if (this.#rules.bodyInFileOnly !== 'off') await rm(file.path, { force: true });
  }

  async #spill(): Promise<void> {
    const { bodyTempPath, bodyInFileOnly } = this.#rules;
    this.#opening = SpoolFile.create({ ...bodyTempPath, named: bodyInFileOnly !== 'off' });
    this.#file = await this.#opening;
    const waiting = Buffer.concat(this.#waiting);
    this.#waiting = [];
    await this.#file.append(waiting);
  }
}

class BodyInMemory implements SpooledBody {
  readonly bytes: Buffer;
  readonly path = undefined;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  get length(): number {
    return this.bytes.byteLength;
  }

  // eslint-disable-next-line typescript/require-await -- both kinds are read alike
  async *pieces(): AsyncGenerator<Buffer, void, undefined> {
    if (this.length > 0) yield this.bytes;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

class BodyInFile implements SpooledBody {
  readonly length: number;
  readonly bytes = undefined;
  readonly path: string | undefined;
  readonly #file: SpoolFile;
  readonly #removes: boolean;

  constructor(file: SpoolFile, length: number, inFileOnly: SpoolRules['bodyInFileOnly']) {
    this.#file = file;
    this.length = length;
    this.path = inFileOnly === 'off' ? undefined : file.path;
    this.#removes = inFileOnly === 'clean';
  }

  pieces(): AsyncIterable<Buffer> {
    return this.#file.pieces();
  }

  async close(): Promise<void> {
    await this.#file.close();
    if (this.#removes) await rm(this.#file.path, { force: true });
  }
}
