import { createHmac, timingSafeEqual } from 'node:crypto';
import type { NewEntry, SealedEntry } from './store.ts';

/** The format version of entries. Nodes drop entries of other versions. */
export const ENTRY_VERSION = '1';

/** The secret and the namespace, which all nodes of a cluster share. */
export interface Seal {
  readonly secret: string;
  readonly namespace: string;
}

/**
 * Adds a MAC: the proof that a node of this cluster wrote the entry for this stream at `madeMs` (the store's clock).
 */
export function sealEntry(
  { madeMs = Date.now(), ...seal }: Seal & { readonly madeMs?: number },
  stream: string,
  entry: NewEntry,
): SealedEntry {
  return { ...entry, mac: macOf(seal, stream, { entry, madeMs: Math.max(0, Math.floor(madeMs)) }) };
}

const MAC = /^(\d{1,15})\.[\w-]{43}$/;

/** Returns the time in ms at which the entry was sealed, according to its MAC; 0 for an entry without a MAC. */
export function madeMsOf({ mac }: SealedEntry): number {
  return Number(MAC.exec(mac)?.[1] ?? 0);
}

/** Returns whether a node of this cluster wrote the entry for this stream. A replayed entry is genuine, too. */
export function isGenuine(seal: Seal, stream: string, entry: SealedEntry): boolean {
  const expected = Buffer.from(macOf(seal, stream, { entry, madeMs: madeMsOf(entry) }));
  const given = Buffer.from(entry.mac);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** A digest by which nodes see whether their secrets are equal. It reveals no more of the secret than a MAC does. */
export function secretDigest({ secret, namespace }: Seal): string {
  return createHmac('sha256', secret).update(`secret of ${namespace}`).digest('base64url').slice(0, 16);
}

interface Sealed {
  readonly entry: NewEntry;
  readonly madeMs: number;
}

/** `TIME.HMAC-SHA256` in base64url. Each part is preceded by its length, so that no byte can move between parts. */
function macOf({ secret, namespace }: Seal, stream: string, { entry, madeMs }: Sealed): string {
  const { origin, incarnation, sequence, fields } = entry;
  const whose = [ENTRY_VERSION, namespace, stream, origin, incarnation, String(sequence), String(madeMs)];
  let text = '';
  for (const part of [...whose, ...fields]) text += `${Buffer.byteLength(part)}:${part}`;
  return `${madeMs}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
}
