import type { BodyFraming } from '../../client/index.ts';

/** Types of records (FastCGI specification, 8). */
export const RECORD = { BEGIN: 1, END: 3, PARAMS: 4, STDIN: 5, STDOUT: 6, STDERR: 7 } as const;

export const HEADER_BYTES = 8;

/** The largest content of a record that needs no padding. */
const MOST_BYTES = 65_528;

/** The only request of a connection at a time has this id. */
export const REQUEST_ID = 1;

const RESPONDER = 1;
const KEEP_CONNECTION = 1;

function writeHeader(to: Buffer, at: number, { type, length }: { type: number; length: number }): void {
  to[at] = 1;
  to[at + 1] = type;
  to.writeUInt16BE(REQUEST_ID, at + 2);
  to.writeUInt16BE(length, at + 4);
  to[at + 6] = paddingOf(length);
  to[at + 7] = 0;
}

/** Contents are padded to a multiple of eight bytes (FastCGI specification, 3.3). */
const paddingOf = (length: number): number => (8 - (length % 8)) % 8;

function header(type: number, length: number): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES);
  writeHeader(bytes, 0, { type, length });
  return bytes;
}

/** Gives the record that begins a request. */
export function beginRecord(keepsConnection: boolean): Buffer {
  const content = [0, RESPONDER, keepsConnection ? KEEP_CONNECTION : 0, 0, 0, 0, 0, 0];
  return Buffer.concat([header(RECORD.BEGIN, content.length), Buffer.from(content)]);
}

/** The record that ends the parameters. */
export const PARAMS_END = header(RECORD.PARAMS, 0);
/** The record that ends the body. */
export const STDIN_END = header(RECORD.STDIN, 0);

/** Gives the records of a stream, as many as its length needs. */
export function records(type: number, content: Uint8Array): Buffer {
  const count = Math.ceil(content.length / MOST_BYTES);
  const to = Buffer.alloc(content.length + count * (HEADER_BYTES + 7));
  let at = 0;
  for (let from = 0; from < content.length; from += MOST_BYTES) {
    const part = content.subarray(from, from + MOST_BYTES);
    writeHeader(to, at, { type, length: part.length });
    to.set(part, at + HEADER_BYTES);
    at += HEADER_BYTES + part.length + paddingOf(part.length);
  }
  return to.subarray(0, at);
}

const PADDING: readonly Buffer[] = Array.from({ length: 8 }, (_none, bytes) => Buffer.alloc(bytes));

/** Bodies are sent as records of this size, like nginx's. */
const BODY_BYTES = 32_768;

/** The body of a request: records of the stream STDIN. */
export const STDIN_RECORDS: BodyFraming = {
  frame(piece) {
    const parts: Uint8Array[] = [];
    for (let from = 0; from < piece.length; from += BODY_BYTES) {
      const part = piece.subarray(from, from + BODY_BYTES);
      parts.push(header(RECORD.STDIN, part.length), part);
      const padding = paddingOf(part.length);
      if (padding > 0) parts.push(PADDING[padding] as Buffer);
    }
    return parts;
  },
  end: STDIN_END,
};
