import type { BoundValue } from '../sql/index.ts';

/**
 * Builds messages to the server (PostgreSQL documentation, "Message Formats") in as few writes as possible. Text is kept in
 * strings with one character per byte, which Node writes without an extra buffer.
 */
export class Messages {
  readonly #pieces: (string | Buffer)[] = [];
  #text = '';

  close(name: string): void {
    this.#text += message('C', `S${name}\0`);
  }

  parse(name: string, text: string): void {
    this.#text += message('P', `${name}\0${bytesOf(text)}\0${int16(0)}`);
  }

  /** Binds parameters; results are requested as text. Buffers are sent in binary format. */
  bind(name: string, { fields, formats, sizeBytes }: Fields): void {
    const head = `\0${name}\0${formats}${int16(fields.length)}`;
    this.#text += `B${int32(head.length + 6 + sizeBytes)}${head}`;
    for (const field of fields) {
      this.#text += int32(field === null ? -1 : sizeOf(field));
      if (isBinary(field)) for (const bytes of [field].flat()) this.#add(bytes);
      else if (field !== null) this.#text += field;
    }
    this.#text += int16(0);
  }

  describe(): void {
    this.#text += DESCRIBE;
  }

  execute(): void {
    this.#text += EXECUTE;
  }

  sync(): void {
    this.#text += SYNC;
  }

  sendTo(stream: NodeJS.WritableStream & { cork(): void; uncork(): void }): void {
    if (this.#pieces.length === 0) {
      stream.write(this.#text, 'latin1');
      return;
    }
    stream.cork();
    for (const piece of this.#pieces) {
      if (typeof piece === 'string') stream.write(piece, 'latin1');
      else stream.write(piece);
    }
    stream.write(this.#text, 'latin1');
    stream.uncork();
  }

  #add(bytes: Buffer): void {
    if (bytes.length <= SMALL_BYTES) {
      this.#text += bytes.toString('latin1');
      return;
    }
    this.#pieces.push(this.#text, bytes);
    this.#text = '';
  }
}

/** The values of a Bind message, encoded. */
export interface Fields {
  readonly fields: readonly BoundValue[];
  /** The number of format codes, and the codes. */
  readonly formats: string;
  readonly sizeBytes: number;
}

/** Encodes values to bind. Throws for what is no value; after that a batch can be written to its end. */
export function fieldsOf(values: readonly BoundValue[]): Fields {
  const fields: BoundValue[] = [];
  let sizeBytes = 0;
  let hasBinary = false;
  for (const value of values) {
    const field = typeof value === 'string' ? bytesOf(value) : value;
    fields.push(field);
    sizeBytes += 4 + sizeOf(field);
    hasBinary ||= isBinary(field);
  }
  return { fields, formats: hasBinary ? formatsOf(fields) : TEXT_FORMATS, sizeBytes };
}

/** All fields are texts. */
const TEXT_FORMATS = int16(0);

function formatsOf(fields: readonly BoundValue[]): string {
  const formats = fields.map((field) => int16(isBinary(field) ? 1 : 0));
  return `${int16(formats.length)}${formats.join('')}`;
}

/** Up to this size, copying bytes is cheaper than an additional write. */
const SMALL_BYTES = 4_096;
/** Describe of the unnamed portal. */
const DESCRIBE = message('D', 'P\0');
/** Execute of the unnamed portal, without a row limit. */
const EXECUTE = message('E', `\0${int32(0)}`);
const SYNC = message('S', '');

function message(type: string, body: string): string {
  return `${type}${int32(body.length + 4)}${body}`;
}

function int32(n: number): string {
  return String.fromCharCode((n >>> 24) & 255, (n >>> 16) & 255, (n >>> 8) & 255, n & 255);
}

function int16(n: number): string {
  return String.fromCharCode((n >>> 8) & 255, n & 255);
}

function sizeOf(field: BoundValue): number {
  if (field === null || typeof field === 'string' || Buffer.isBuffer(field)) return field?.length ?? 0;
  return field.reduce((sum, { length }) => sum + length, 0);
}

/** Encodes a text as UTF-8 with one character per byte. */
function bytesOf(text: string): string {
  return Buffer.byteLength(text) === text.length ? text : Buffer.from(text).toString('latin1');
}

function isBinary(field: BoundValue): field is Buffer | readonly Buffer[] {
  return typeof field === 'object' && field !== null;
}
