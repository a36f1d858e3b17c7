import { createHash } from 'node:crypto';
import type { Memory } from '../header.ts';
import { DIGEST_BYTES, PURGE_BYTES, PURGE_RECORDS, PURGES_AT, PURGES_WORD } from './kind.ts';

/** What a purge removes: one key, all keys with a prefix ('': all), or what has a tag. */
export interface Purge {
  readonly kind: 'key' | 'prefix' | 'tag';
  readonly text: string;
}

const KINDS: readonly Purge['kind'][] = ['key', 'prefix', 'tag'];

/*
 * The last purges, so that what began before one is not stored after it. A record is 32 bytes:
 *   0 u32 kind   4 u32 length of the text in bytes   8 digest of the text (16 bytes)
 */

/** Records a purge and returns how many there have been. The caller holds the zone's lock. */
export function recordPurge({ u32, bytes }: Memory, { kind, text }: Purge): number {
  const count = u32[PURGES_WORD] as number;
  const at = PURGES_AT + (count % PURGE_RECORDS) * PURGE_BYTES;
  const encoded = Buffer.from(text);
  u32[at >> 2] = KINDS.indexOf(kind);
  u32[(at >> 2) + 1] = encoded.length;
  digestOf(encoded).copy(bytes, at + 8);
  u32[PURGES_WORD] = (count + 1) >>> 0;
  return count + 1;
}

/**
 * Tells whether a purge after the first `since` ones meant this entry. If more purges than the records hold have passed,
 * the answer is yes: to lose an entry is better than to keep one that was purged. The caller holds the zone's lock.
 */
export function wasPurged(
  { u32, bytes }: Memory,
  since: number,
  entry: { readonly key: string; readonly tags: readonly string[] },
): boolean {
  const count = u32[PURGES_WORD] as number;
  if (count === since) return false;
  if (count - since > PURGE_RECORDS || count < since) return true;
  const key = Buffer.from(entry.key);
  for (let number = since; number < count; number++) {
    const at = PURGES_AT + (number % PURGE_RECORDS) * PURGE_BYTES;
    const length = u32[(at >> 2) + 1] as number;
    const digest = bytes.subarray(at + 8, at + 8 + DIGEST_BYTES);
    const texts = textsFor(KINDS[u32[at >> 2] as number], { key, tags: entry.tags, length });
    if (texts.some((text) => text.length === length && digestOf(text).equals(digest))) return true;
  }
  return false;
}

function textsFor(
  kind: Purge['kind'] | undefined,
  { key, tags, length }: { readonly key: Buffer; readonly tags: readonly string[]; readonly length: number },
): readonly Buffer[] {
  if (kind === 'tag') return tags.map((tag) => Buffer.from(tag));
  return [kind === 'prefix' ? key.subarray(0, length) : key];
}

function digestOf(text: Buffer): Buffer {
  return createHash('sha256').update(text).digest().subarray(0, DIGEST_BYTES);
}
