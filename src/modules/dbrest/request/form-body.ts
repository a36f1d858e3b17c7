import { setImmediate as nextTurn } from 'node:timers/promises';
import { invalidBody, tooLarge } from '../fault/index.ts';

/** A form as a JSON object of strings. */
export interface FormRow {
  readonly json: readonly Buffer[];
  readonly names: readonly string[];
}

const QUOTE = 0x22;
const PERCENT = 0x25;
const AMPERSAND = 0x26;
const PLUS = 0x2b;
const EQUALS = 0x3d;
const BACKSLASH = 0x5c;
const BLANK = 0x20;
/** Between two pieces of this size others have their turn. */
const PIECE_BYTES = 65_536;
/** One byte as `\u0000`. */
const LONGEST_ESCAPE = 6;
const MOST_FIELDS = 1_600;
/** 63 bytes, each of them escaped. */
const LONGEST_NAME_BYTES = 63 * 3;

/**
 * An `application/x-www-form-urlencoded` body. Bytes stay bytes on the way: what is not UTF-8 is the database's to refuse.
 * Throws PGRST102.
 */
export async function readForm(bytes: Buffer): Promise<FormRow> {
  const json: Buffer[] = [];
  const names = new Set<string>();
  let turn = PIECE_BYTES;
  for (let from = 0; from < bytes.length;) {
    const end = placeOf(AMPERSAND, bytes, { from, end: bytes.length });
    const equals = placeOf(EQUALS, bytes, { from, end });
    if (end > from) {
      if (equals - from > LONGEST_NAME_BYTES) throw tooLarge('a name has at most 63 bytes');
      const name = jsonText(bytes.subarray(from, equals));
      json.push(Buffer.from(names.size === 0 ? '{"' : ',"'), name, Buffer.from('":"'));
      names.add(JSON.parse(`"${name.toString()}"`) as string);
      if (names.size > MOST_FIELDS) throw tooLarge(`a row has at most ${MOST_FIELDS} columns`);
      await addValue(bytes.subarray(equals + 1, end), json);
      json.push(Buffer.from('"'));
    }
    from = end + 1;
    if (from < turn) continue;
    turn = from + PIECE_BYTES;
    await nextTurn();
  }
  json.push(Buffer.from(names.size === 0 ? '{}' : '}'));
  return { json, names: [...names] };
}

/** The place of a byte, or the end. */
function placeOf(byte: number, bytes: Buffer, { from, end }: { from: number; end: number }): number {
  const place = bytes.subarray(from, end).indexOf(byte);
  return place < 0 ? end : from + place;
}

async function addValue(bytes: Buffer, json: Buffer[]): Promise<void> {
  for (let from = 0; from < bytes.length;) {
    let end = Math.min(from + PIECE_BYTES, bytes.length);
    // An escape must not be cut.
    if (end < bytes.length) while (bytes[end - 1] === PERCENT || bytes[end - 2] === PERCENT) end -= 1;
    json.push(jsonText(bytes.subarray(from, end)));
    from = end;
    if (from < bytes.length) await nextTurn();
  }
}

/** A piece of a name or a value as what stands between the quotes of a JSON string. */
function jsonText(bytes: Buffer): Buffer {
  const text = Buffer.allocUnsafe(bytes.length * LONGEST_ESCAPE);
  let length = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    let byte = bytes[at] as number;
    if (byte === PLUS) byte = BLANK;
    else if (byte === PERCENT) {
      byte = escapedByte(bytes, at);
      at += 2;
    }
    if (byte < BLANK) length += text.write(`\\u${byte.toString(16).padStart(4, '0')}`, length, 'latin1');
    else {
      if (byte === QUOTE || byte === BACKSLASH) length = text.writeUInt8(BACKSLASH, length);
      length = text.writeUInt8(byte, length);
    }
  }
  // A copy, so that the room for escapes that did not come is free again.
  return Buffer.from(text.subarray(0, length));
}

function escapedByte(bytes: Buffer, at: number): number {
  const digits = bytes.toString('latin1', at + 1, at + 3);
  if (!/^[0-9a-f]{2}$/i.test(digits)) throw invalidBody('Empty or invalid form');
  return Number.parseInt(digits, 16);
}
