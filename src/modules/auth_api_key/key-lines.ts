/** What is known of a key. The key itself is not. */
export interface KeyEntry {
  readonly id: string;
  /** Milliseconds since the epoch; `Infinity`: never. */
  readonly expiresMs: number;
  /** Attributes by name. */
  readonly attributes: ReadonlyMap<string, string>;
}

/** The entries of keys, by the SHA-256 of the whole key in lower-case hexadecimal digits. */
export type KeyEntries = ReadonlyMap<string, KeyEntry>;

const ID = String.raw`[\w.@+-]{1,128}`;
const TIME = String.raw`\d{1,15}|\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})?)?`;
const LINE = new RegExp(`^(${ID}):([0-9a-fA-F]{64})(?::(${TIME})?(?::(.*))?)?$`);
const ENTRY = new RegExp(`^(${ID})(?::(${TIME})?(?::(.*))?)?$`);
const FORM = 'expected id:hash[:expires[:name=value,...]]';
const ATTRIBUTE = /^([a-z]\w*)=(.*)$/;

/** True for a text that can be the id of a key. */
export function isKeyId(text: string): boolean {
  return new RegExp(`^${ID}$`).test(text);
}

/**
 * Parses lines of `id:sha256[:expires[:name=value,…]]`: `expires` in seconds since the epoch or as ISO 8601 (UTC if it
 * has no zone). Each line has an end; `#` begins a comment. A fault names the line.
 */
export function parseKeyLines(text: string): { readonly value: KeyEntries } | { readonly fault: string } {
  const entries = new Map<string, KeyEntry>();
  const lines = text.split(/\r?\n/);
  // A line that is cut off may lack its expiry.
  if (lines.pop() !== '') return { fault: `line ${lines.length + 1} has no end: is the file being written?` };
  for (const [index, written] of lines.entries()) {
    const line = written.trim();
    if (line === '' || line.startsWith('#')) continue;
    const [, id, digest = '', expires, attributes = ''] = LINE.exec(line) ?? [];
    const entry = entryOf(id, expires, attributesOf(attributes));
    if (!entry) return { fault: `line ${index + 1} is malformed, ${FORM}` };
    if (entries.has(digest.toLowerCase())) return { fault: `line ${index + 1} has a key a second time` };
    entries.set(digest.toLowerCase(), entry);
  }
  return { value: entries };
}

/** Parses `id[:expires[:name=value,…]]`, a line without the hash; `undefined` if it is malformed. */
export function parseKeyEntry(text: string): KeyEntry | undefined {
  const [, id, expires, attributes = ''] = ENTRY.exec(text) ?? [];
  return entryOf(id, expires, attributesOf(attributes));
}

/** Reads the fields of a hash: `id`, `expires` and attributes; `undefined` if they are malformed. */
export function keyEntryOf(fields: ReadonlyMap<string, string>): KeyEntry | undefined {
  const attributes = new Map<string, string>();
  for (const [name, value] of fields) {
    if (name === 'id' || name === 'expires') continue;
    if (!ATTRIBUTE.test(`${name}=${value}`)) return undefined;
    attributes.set(name.toLowerCase(), value);
  }
  const expires = fields.get('expires') || undefined;
  if (expires !== undefined && !new RegExp(`^(?:${TIME})$`).test(expires)) return undefined;
  const id = fields.get('id') ?? '';
  return isKeyId(id) ? entryOf(id, expires, attributes) : undefined;
}

function entryOf(
  id: string | undefined,
  expires: string | undefined,
  attributes: KeyEntry['attributes'] | undefined,
): KeyEntry | undefined {
  const expiresMs = expires === undefined ? Infinity : timeOf(expires);
  return id === undefined || Number.isNaN(expiresMs) || !attributes
    ? undefined
    : { id, expiresMs, attributes };
}

function timeOf(text: string): number {
  if (/^\d+$/.test(text)) return Number(text) * 1_000;
  return Date.parse(/T/.test(text) && !/(?:Z|[+-]\d{2}:\d{2})$/.test(text) ? `${text}Z` : text);
}

function attributesOf(text: string): ReadonlyMap<string, string> | undefined {
  const attributes = new Map<string, string>();
  for (const pair of text === '' ? [] : text.split(',')) {
    const [, name, value = ''] = ATTRIBUTE.exec(pair.trim()) ?? [];
    if (name === undefined) return undefined;
    attributes.set(name.toLowerCase(), value);
  }
  return attributes;
}
