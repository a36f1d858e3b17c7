import { setImmediate as nextTurn } from 'node:timers/promises';
import { invalidBody, tooLarge } from '../fault/index.ts';
import { JsonWriter } from './json-writer.ts';

/** A form as a JSON object of strings. */
export interface FormRow {
  readonly json: readonly Buffer[];
  readonly names: readonly string[];
}

const AMPERSAND = 0x26;
const EQUALS = 0x3d;
/** Between two pieces of this size others have their turn. */
const PIECE_BYTES = 65_536;
const MOST_FIELDS = 1_600;
/** 63 bytes, each of them escaped. */
const LONGEST_NAME_BYTES = 63 * 3;
const BROKEN_ESCAPE = /%(?![0-9a-f]{2})/i;
/** An escape that is cut at the end of a piece. */
const CUT_ESCAPE = /%.?$/s;

/**
 * An `application/x-www-form-urlencoded` body. Bytes stay bytes on the way, one character for each: what is not UTF-8 is
 * the database's to refuse. Throws PGRST102.
 */
export async function readForm(bytes: Buffer): Promise<FormRow> {
  const writer = new JsonWriter('latin1');
  const names = new Set<string>();
  let turn = PIECE_BYTES;
  for (let from = 0; from < bytes.length;) {
    const end = placeOf(AMPERSAND, bytes, { from, end: bytes.length });
    const equals = placeOf(EQUALS, bytes, { from, end });
    if (end > from) {
      const name = nameIn(bytes, from, equals);
      writer.write(`${names.size === 0 ? '{' : ','}"${escapedJson(name)}":"`);
      names.add(Buffer.from(name, 'latin1').toString());
      if (names.size > MOST_FIELDS) throw tooLarge(`a row has at most ${MOST_FIELDS} columns`);
      await writeValue(bytes.subarray(equals + 1, end), writer);
      writer.write('"');
    }
    from = end + 1;
    if (from < turn) continue;
    turn = from + PIECE_BYTES;
    await nextTurn();
  }
  writer.write(names.size === 0 ? '{}' : '}');
  return { json: writer.finish(), names: [...names] };
}

/** The place of a byte, or the end. */
function placeOf(byte: number, bytes: Buffer, { from, end }: { from: number; end: number }): number {
  const place = bytes.subarray(from, end).indexOf(byte);
  return place < 0 ? end : from + place;
}

function nameIn(bytes: Buffer, from: number, end: number): string {
  if (end - from > LONGEST_NAME_BYTES) throw tooLarge('a name has at most 63 bytes');
  return decoded(bytes.toString('latin1', from, end));
}

async function writeValue(bytes: Buffer, writer: JsonWriter): Promise<void> {
  for (let from = 0; from < bytes.length;) {
    const piece = bytes.toString('latin1', from, from + PIECE_BYTES);
    const isLast = from + piece.length === bytes.length;
    const whole = isLast ? piece : piece.replace(CUT_ESCAPE, '');
    writer.write(escapedJson(decoded(whole)));
    from += whole.length;
    if (!isLast) await nextTurn();
  }
}

function decoded(text: string): string {
  if (!/[+%]/.test(text)) return text;
  if (BROKEN_ESCAPE.test(text)) throw invalidBody('Empty or invalid form');
  return text
    .replaceAll('+', ' ')
    .replace(/%(..)/gs, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

/** Only characters of ASCII need an escape: no byte of another one is like them. */
function escapedJson(text: string): string {
  return text.replace(/["\\\p{Cc}]/gu, (character) =>
    character < '\x7f' ? JSON.stringify(character).slice(1, -1) : character,
  );
}
