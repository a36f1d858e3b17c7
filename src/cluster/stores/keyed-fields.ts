/** The content of an entry of a keyed stream: a key is set or deleted. */
export interface KeyWrite {
  readonly key: string;
  /** The last counter that the writer had read. A later entry of the key, by another node, supersedes this one. */
  readonly seen: number;
  /** The key expires this long after the store took the entry; 0: never. */
  readonly ttlMs: number;
  /** `undefined`: the key is deleted. */
  readonly value: string | undefined;
}

/** Maximum size of a key and its value together. */
export const MAX_KEYED_BYTES = 65_536;

/** The fields of an entry of a keyed stream. Stores read the key, `seen` and `ttl` by their index. */
export function keyedFields({ key, seen, ttlMs, value }: KeyWrite): readonly string[] {
  const fields = ['key', key, 'seen', String(seen), 'ttl', String(Math.ceil(ttlMs))];
  return value === undefined ? fields : [...fields, 'value', value];
}

const NAMES = ['key', 'seen', 'ttl', 'value'];
const NUMBER = /^\d{1,15}$/;

/** Reads the fields of an entry; `undefined` if they are malformed or exceed the limits. */
export function keyWriteOf(fields: readonly string[]): KeyWrite | undefined {
  const [, key = '', , seen = '', , ttl = '', , value] = fields;
  const isNamed = fields.every((text, at) => at % 2 === 1 || text === NAMES[at / 2]);
  const isWhole = (fields.length === 6 || fields.length === 8) && isNamed;
  if (!isWhole || key === '' || !NUMBER.test(seen) || !NUMBER.test(ttl)) return undefined;
  if (Buffer.byteLength(key) + Buffer.byteLength(value ?? '') > MAX_KEYED_BYTES) return undefined;
  return { key, seen: Number(seen), ttlMs: Number(ttl), value };
}
