import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Entry, SealedEntry } from './store.ts';

/** The version of entries. Nodes drop those of another one. */
export const ENTRY_VERSION = '1';

/** What the nodes of a cluster have in common. */
export interface Seal {
  readonly secret: string;
  readonly namespace: string;
}

/** Adds the proof that a node of this cluster has written the entry into this stream, and when, on the clock of the store. */
export function sealEntry(
  { madeMs = Date.now(), ...seal }: Seal & { readonly madeMs?: number },
  stream: string,
  entry: Entry,
): SealedEntry {
  return { ...entry, mac: macOf(seal, stream, { entry, madeMs: Math.max(0, Math.floor(madeMs)) }) };
}

const MAC = /^(\d{1,15})\.[\w-]{43}$/;

/** When the entry was sealed, as its proof says; 0 for an entry without one. */
export function madeMsOf({ mac }: SealedEntry): number {
  return Number(MAC.exec(mac)?.[1] ?? 0);
}

/** Tells whether a node of this cluster has written the entry into this stream. It may be a repetition. */
export function isGenuine(seal: Seal, stream: string, entry: SealedEntry): boolean {
  const expected = Buffer.from(macOf(seal, stream, { entry, madeMs: madeMsOf(entry) }));
  const given = Buffer.from(entry.mac);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** By which nodes see that they have the same secret; it tells no more of that than the entries do. */
export function secretDigest({ secret, namespace }: Seal): string {
  return createHmac('sha256', secret).update(`secret of ${namespace}`).digest('base64url').slice(0, 16);
}

interface Sealed {
  readonly entry: Entry;
  readonly madeMs: number;
}

/** The time, and an HMAC-SHA256 in base64url of the parts, each behind its length in bytes: none can be moved into its neighbour. */
function macOf({ secret, namespace }: Seal, stream: string, { entry, madeMs }: Sealed): string {
  const { origin, incarnation, sequence, fields } = entry;
  const whose = [ENTRY_VERSION, namespace, stream, origin, incarnation, String(sequence), String(madeMs)];
  let text = '';
  for (const part of [...whose, ...fields]) text += `${Buffer.byteLength(part)}:${part}`;
  return `${madeMs}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
}
