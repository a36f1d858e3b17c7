/** What an entry of a keyed stream says: a key has a new value, or none any more. */
export interface KeyWrite {
  readonly key: string;
  /** Up to which counter the writer had the stream: a later entry of the key, by another node, overtakes this one. */
  readonly seen: number;
  /** After so long the key is gone by itself, counted from when the store took the entry; 0: never. */
  readonly ttlMs: number;
  /** `undefined`: the key is deleted. */
  readonly value: string | undefined;
}

/** Most bytes of a key and its value together. */
export const MAX_KEYED_BYTES = 65_536;

/** The fields of an entry of a keyed stream. Stores read key, `seen` and `ttl` at their places. */
export function keyedFields({ key, seen, ttlMs, value }: KeyWrite): readonly string[] {
  const fields = ['key', key, 'seen', String(seen), 'ttl', String(Math.ceil(ttlMs))];
  return value === undefined ? fields : [...fields, 'value', value];
}

const NAMES = ['key', 'seen', 'ttl', 'value'];
const NUMBER = /^\d{1,15}$/;

/** Reads such fields; `undefined` if they are none, or beyond the limits. */
export function keyWriteOf(fields: readonly string[]): KeyWrite | undefined {
  const [, key = '', , seen = '', , ttl = '', , value] = fields;
  const isNamed = fields.every((text, at) => at % 2 === 1 || text === NAMES[at / 2]);
  const isWhole = (fields.length === 6 || fields.length === 8) && isNamed;
  if (!isWhole || key === '' || !NUMBER.test(seen) || !NUMBER.test(ttl)) return undefined;
  if (Buffer.byteLength(key) + Buffer.byteLength(value ?? '') > MAX_KEYED_BYTES) return undefined;
  return { key, seen: Number(seen), ttlMs: Number(ttl), value };
}
