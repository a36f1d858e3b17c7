import type { BodyFraming } from '../../client/index.ts';

/** Types of records (FastCGI specification, 8). */
export const RECORD = { BEGIN: 1, END: 3, PARAMS: 4, STDIN: 5, STDOUT: 6, STDERR: 7 } as const;

export const HEADER_BYTES = 8;

/** The largest content of a record that needs no padding. */
export const MOST_RECORD_BYTES = 65_528;

/** The id of a request. A connection has one request at a time. */
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

const textOf = (bytes: Buffer): string => bytes.toString('latin1');

/** Returns the record that begins a request, as text: a character is a byte. */
export function beginRecord(keepsConnection: boolean): string {
  const content = [0, RESPONDER, keepsConnection ? KEEP_CONNECTION : 0, 0, 0, 0, 0, 0];
  return textOf(Buffer.concat([header(RECORD.BEGIN, content.length), Buffer.from(content)]));
}

const STDIN_END = header(RECORD.STDIN, 0);

/** The record that ends the parameters. */
export const PARAMS_END = textOf(header(RECORD.PARAMS, 0));
/** The records that end the parameters and the empty body of a request. */
export const REQUEST_END = PARAMS_END + textOf(STDIN_END);

/** Returns the records of the parameters, as many as their length needs. */
export function paramRecords(content: string): string {
  if (content.length <= MOST_RECORD_BYTES) return paramRecord(content);
  let text = '';
  for (let from = 0; from < content.length; from += MOST_RECORD_BYTES)
    text += paramRecord(content.slice(from, from + MOST_RECORD_BYTES));
  return text;
}

function paramRecord(content: string): string {
  if (content === '') return '';
  const { length } = content;
  const padding = paddingOf(length);
  const head = String.fromCharCode(1, RECORD.PARAMS, 0, REQUEST_ID, length >> 8, length & 255, padding, 0);
  return head + content + '\0'.repeat(padding);
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
