export const QUOTE = 0x22;
const COMMA = 0x2c;
export const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
export const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** The media type of the JSON that gw itself writes. */
export const JSON_CONTENT_TYPE = 'application/json; charset=utf-8';

/** A member of an object, or an element of an array, whose key is empty: the bytes of its value, as they were sent. */
export interface JsonSlice {
  /** The key in quotes, as sent. */
  readonly key: Buffer;
  readonly value: Buffer;
}

const NO_KEY = Buffer.alloc(0);

/** Bytes that are passed between two pauses. */
const PIECE_BYTES = 262_144;

/**
 * Cuts an object or an array into its members, so that values keep their exact form: parsed numbers would lose digits.
 * The text must be valid JSON. `undefined` is a pause.
 */
export function* slicesOf(json: Buffer): Generator<JsonSlice | undefined, void> {
  let at = behindBlanks(json, 0);
  const hasKeys = json[at] === OPEN_OBJECT;
  at = behindBlanks(json, at + 1);
  while (!isClosing(json[at])) {
    let key: Buffer = NO_KEY;
    if (hasKeys) {
      const end = endOfString(json, at);
      key = json.subarray(at, end);
      // A colon follows.
      at = behindBlanks(json, end) + 1;
    }
    const from = behindBlanks(json, at);
    at = yield* endOfValue(json, from);
    yield { key, value: json.subarray(from, at) };
    if (json[at] === COMMA) at = behindBlanks(json, at + 1);
  }
}

function isClosing(byte: number | undefined): boolean {
  return byte === undefined || byte === CLOSE_ARRAY || byte === CLOSE_OBJECT;
}

function behindBlanks(json: Buffer, from: number): number {
  let at = from;
  while ((json[at] ?? 0xff) <= 0x20) at += 1;
  return at;
}

/** The offset behind a string that begins at `from`. */
function endOfString(json: Buffer, from: number): number {
  for (let at = from + 1; ; at += 1) {
    at = json.indexOf(QUOTE, at);
    if (at === -1) return json.length;
    let slashes = 0;
    while (json[at - 1 - slashes] === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return at + 1;
  }
}

/** The offset of the comma or bracket behind a value. */
function* endOfValue(json: Buffer, from: number): Generator<undefined, number> {
  let depth = 0;
  let pauseAt = from + PIECE_BYTES;
  for (let at = from; at < json.length;) {
    const byte = json[at] as number;
    if (depth === 0 && (byte === COMMA || isClosing(byte))) return at;
    if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) depth += 1;
    else if (isClosing(byte)) depth -= 1;
    at = byte === QUOTE ? endOfString(json, at) : at + 1;
    if (at < pauseAt) continue;
    pauseAt = at + PIECE_BYTES;
    yield undefined;
  }
  return json.length;
}
