import { randomBytes } from 'node:crypto';
import type { PurgeList } from '../../zone/index.ts';
import type { RemoteEntry, Subject, Taken } from '../node/index.ts';
import type { PurgeQueue, ZonePurge } from './purge-queue.ts';

const KINDS: readonly string[] = ['key', 'prefix', 'tag', 'tag prefix'];
/** Maximum characters of the texts of one entry, unless a single text is longer. */
const LONGEST_PART = 16_384;
/** The entry by which a node tells that some of its purges were dropped. */
const LOST = ['lost', 'some'] as const;

/** The purges of stored responses, which all nodes repeat. They are resumed where the former process ended. */
export class PurgeSubject implements Subject {
  readonly stream = 'pu';
  readonly digest = 'pu:1';
  readonly incarnation = randomBytes(9).toString('hex');
  /** A new node has no entries that were purged before. */
  readonly history = 0;
  readonly #queue: PurgeQueue;
  readonly #own: (readonly string[])[] = [];
  #sequence = 0;
  #listener: () => void = () => undefined;

  /** The queue does the purges of other nodes. It is closed with this subject. */
  constructor(queue: PurgeQueue) {
    this.#queue = queue;
  }

  get position(): number | undefined {
    return this.#queue.position;
  }

  get birth(): number {
    return this.#queue.birth;
  }

  set birth(birth: number) {
    this.#queue.birth = birth;
  }

  /** Adds a purge that this node has done. */
  add({ zone, kind, texts }: ZonePurge): void {
    for (const part of partsOf(texts))
      this.#own.push(['zone', zone, 'kind', kind, 'texts', JSON.stringify(part)]);
    this.#listener();
  }

  watch(listener: () => void): () => void {
    this.#listener = listener;
    return () => (this.#listener = () => undefined);
  }

  take(most: number): Taken {
    const entries = this.#own.splice(0, most).map((fields) => ({ sequence: (this.#sequence += 1), fields }));
    return { entries, lost: 0 };
  }

  acknowledged(): void {
    // No request waits for the acknowledgement.
  }

  accepts(fields: readonly string[]): boolean {
    return isLost(fields) || purgeOf(fields) !== undefined;
  }

  apply(entries: readonly RemoteEntry[], position: number): boolean {
    const purges = entries.flatMap(({ fields }) => purgeOf(fields) ?? []);
    if (!this.#queue.add(purges, position)) return false;
    if (entries.some(({ fields }) => isLost(fields))) this.#queue.empty();
    return true;
  }

  tellGap(): void {
    this.#queue.empty();
  }

  tellLost(): void {
    this.#own.push(LOST);
    this.#listener();
  }

  close(): Promise<void> {
    return this.#queue.close();
  }
}

/** Splits a list so that no entry of the store is much longer than `LONGEST_PART`. */
function partsOf(texts: readonly string[]): readonly (readonly string[])[] {
  const parts: string[][] = [];
  let room = 0;
  for (const text of texts) {
    room -= text.length;
    // The first text may be empty: it then means everything.
    if (room < 0 || parts.length === 0) {
      parts.push([]);
      room = LONGEST_PART - text.length;
    }
    parts.at(-1)?.push(text);
  }
  return parts;
}

function isLost([name, value]: readonly string[]): boolean {
  return name === LOST[0] && value === LOST[1];
}

/** Reads a purge from the fields of an entry. Returns `undefined` if they are malformed. */
function purgeOf([, zone = '', , kind = '', name = '', json = '']: readonly string[]): ZonePurge | undefined {
  if (name !== 'texts' || !KINDS.includes(kind)) return undefined;
  try {
    const texts = JSON.parse(json) as unknown;
    const isList = Array.isArray(texts) && texts.every((text) => typeof text === 'string');
    return isList ? { zone, kind: kind as PurgeList['kind'], texts: texts as string[] } : undefined;
  } catch {
    return undefined;
  }
}
