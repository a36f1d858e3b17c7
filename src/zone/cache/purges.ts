import { createHash } from 'node:crypto';
import type { Memory } from '../header.ts';
import { DIGEST_BYTES, type Geometry, PURGE_BYTES, PURGES_AT, PURGES_WORD } from './kind.ts';

/** A purge removes one key, keys with a prefix ('': all), entries with a tag, or with a tag that has a prefix. */
export interface Purge {
  readonly kind: 'key' | 'prefix' | 'tag' | 'tag prefix';
  readonly text: string;
}

/** Purges of one kind. */
export interface PurgeList {
  readonly kind: Purge['kind'];
  readonly texts: readonly string[];
}

const KINDS: readonly Purge['kind'][] = ['key', 'prefix', 'tag', 'tag prefix'];

/*
 * The last purges. A response that was requested before a purge must not be stored after it. A record is 32 bytes:
 *   0 u32 kind   4 u32 length of the text in bytes   8 digest of the text (16 bytes)
 */

/** The memory in which purges are recorded. */
interface Recorded {
  readonly memory: Memory;
  readonly geometry: Pick<Geometry, 'purgeRecords'>;
}

/** Records purges. The caller holds the zone's lock. */
export function recordPurges({ memory, geometry }: Recorded, { kind, texts }: PurgeList): void {
  const { u32, bytes } = memory;
  for (const text of texts) {
    const count = u32[PURGES_WORD] as number;
    const at = PURGES_AT + (count % geometry.purgeRecords) * PURGE_BYTES;
    const encoded = Buffer.from(text);
    u32[at >> 2] = KINDS.indexOf(kind);
    u32[(at >> 2) + 1] = encoded.length;
    digestOf(encoded).copy(bytes, at + 8);
    u32[PURGES_WORD] = (count + 1) >>> 0;
  }
}

/**
 * Returns whether a purge after the first `since` ones matches this entry. Also true if some of these purges are no
 * longer recorded: losing an entry is better than keeping a purged one. The caller holds the zone's lock.
 */
export function wasPurged(
  { memory: { u32, bytes }, geometry: { purgeRecords } }: Recorded,
  since: number,
  entry: { readonly key: string; readonly tags: readonly string[] },
): boolean {
  const count = u32[PURGES_WORD] as number;
  if (count === since) return false;
  if (count - since > purgeRecords || count < since) return true;
  const texts = new PurgeableTexts(entry);
  for (let number = since; number < count; number++) {
    const at = PURGES_AT + (number % purgeRecords) * PURGE_BYTES;
    const kind = KINDS[u32[at >> 2] as number] as Purge['kind'];
    const digest = bytes.subarray(at + 8, at + 8 + DIGEST_BYTES);
    if (texts.digests(kind, u32[(at >> 2) + 1] as number).some((own) => own.equals(digest))) return true;
  }
  return false;
}

/** The texts by which an entry can be purged, as digests. */
class PurgeableTexts {
  readonly #key: Buffer;
  readonly #tags: readonly Buffer[];
  /** Cached by kind and length, since an entry is compared with many records. */
  readonly #known = new Map<string, readonly Buffer[]>();

  constructor({ key, tags }: { readonly key: string; readonly tags: readonly string[] }) {
    this.#key = Buffer.from(key);
    this.#tags = tags.map((tag) => Buffer.from(tag));
  }

  /** Returns the digests of the texts of this length by which a purge of this kind matches the entry. */
  digests(kind: Purge['kind'], length: number): readonly Buffer[] {
    const name = `${kind} ${length}`;
    const known = this.#known.get(name);
    if (known) return known;
    const isWhole = kind === 'key' || kind === 'tag';
    const digests = (kind === 'key' || kind === 'prefix' ? [this.#key] : this.#tags)
      .filter((text) => (isWhole ? text.length === length : text.length >= length))
      .map((text) => digestOf(text.subarray(0, length)));
    this.#known.set(name, digests);
    return digests;
  }
}

function digestOf(text: Buffer): Buffer {
  return createHash('sha256').update(text).digest().subarray(0, DIGEST_BYTES);
}
