import { randomBytes } from 'node:crypto';
import type { Sessions, UpstreamGroup } from '../../upstream/index.ts';
import { DictionaryFault } from '../../zone/index.ts';
import type { AcknowledgedEntry, RemoteEntry, Subject, Taken } from '../node/index.ts';

/** An upstream of a worker whose sessions are shared. */
export interface SessionGroup extends Pick<UpstreamGroup, 'peerAt'> {
  readonly sessions: Sessions;
}

interface SessionsSubjectParts {
  readonly zone: string;
  /** The digest of the parameters of the sessions. */
  readonly digest: string;
  /** Returns the upstream of the latest configuration. */
  readonly group: () => SessionGroup | undefined;
  /** Counts sessions that other gateways are not told of. */
  readonly dropped: (count: number) => void;
}

/** Number of last entries that a new node applies. Sessions in use are told again within a part of their timeout. */
const HISTORY = 2_000;
/** Maximum sessions of one entry, which then has less than 2 KiB. */
const MOST_IN_ENTRY = 64;
/** Maximum sessions that a gateway tells in a second. */
const MOST_PER_SECOND = 2_000;
/** Maximum entries that the store has not acknowledged: other entries that wait must have room. */
const MOST_UNACKNOWLEDGED = 128;
const MOST_WAITING = 10_000;
const LONGEST_ADDRESS = 128;
/** The MD5 of a session in base64, without the padding that all of them have. */
const DIGEST = /^[\w+/]{22}$/;
const PADDING = '==';

/** Addresses of peers, and the digests of the sessions of each. */
type ToldSessions = readonly (readonly [address: string, digests: readonly string[]])[];

/** The sessions of `sticky learn`, which all nodes learn. Of several peers of a session, the last one counts. */
export class SessionsSubject implements Subject {
  readonly stream: string;
  readonly digest: string;
  readonly incarnation = randomBytes(9).toString('hex');
  readonly history = HISTORY;
  readonly position = undefined;
  readonly #parts: SessionsSubjectParts;
  /** Addresses of sessions that were not taken yet, by session, the oldest first. */
  readonly #waiting = new Map<string, string>();
  /** The sessions of entries that are not acknowledged yet, by sequence. */
  readonly #unacknowledged = new Map<number, readonly string[]>();
  /** The last local entry of each session, until the stream is read up to it. Counter Infinity: not acknowledged. */
  readonly #own = new Map<string, { readonly sequence: number; readonly counter: number }>();
  #sequence = 0;
  /** The present second, and the number of sessions told in it. */
  #second = 0;
  #told = 0;
  #listener: () => void = () => undefined;

  constructor(parts: SessionsSubjectParts) {
    this.#parts = parts;
    this.stream = `st:${parts.zone}`;
    this.digest = parts.digest;
  }

  /** Adds sessions that a worker has learnt: addresses by session. */
  add(sessions: ReadonlyMap<string, string>): void {
    const second = Math.floor(performance.now() / 1000);
    if (second !== this.#second) [this.#second, this.#told] = [second, 0];
    let dropped = 0;
    for (const [session, address] of sessions) {
      const isTooMany = this.#told >= MOST_PER_SECOND || this.#waiting.size >= MOST_WAITING;
      if (isTooMany && !this.#waiting.has(session)) dropped += 1;
      else this.#waiting.set(session, address);
      this.#told += 1;
    }
    if (dropped > 0) this.#parts.dropped(dropped);
    this.#listener();
  }

  watch(listener: () => void): () => void {
    this.#listener = listener;
    return () => (this.#listener = () => undefined);
  }

  take(most: number): Taken {
    const entries: Taken['entries'][number][] = [];
    while (this.#waiting.size > 0 && entries.length < most && this.#unacknowledged.size < MOST_UNACKNOWLEDGED)
      entries.push(this.#nextEntry());
    return { entries, lost: 0 };
  }

  acknowledged(entries: readonly AcknowledgedEntry[]): void {
    for (const { sequence, counter } of entries) {
      for (const session of this.#unacknowledged.get(sequence) ?? [])
        if (this.#own.get(session)?.sequence === sequence) this.#own.set(session, { sequence, counter });
      this.#unacknowledged.delete(sequence);
    }
    if (this.#waiting.size > 0) this.#listener();
  }

  accepts(fields: readonly string[]): boolean {
    return toldIn(fields) !== undefined;
  }

  apply(entries: readonly RemoteEntry[], position: number): boolean {
    try {
      for (const entry of entries) this.#learn(entry);
    } catch (error) {
      if (!(error instanceof DictionaryFault)) throw error;
      if (error.refusal === 'busy') return false;
    }
    for (const [session, { counter }] of this.#own) if (counter <= position) this.#own.delete(session);
    return true;
  }

  tellGap(): void {
    // This gateway does not know the sessions that were missed, and learns them from responses.
  }

  /** Forgets all local entries, since it is unknown which of them were lost. */
  tellLost(): void {
    this.#unacknowledged.clear();
    this.#own.clear();
  }

  #nextEntry(): Taken['entries'][number] {
    const sequence = (this.#sequence += 1);
    const digests = new Map<string, string[]>();
    const sessions: string[] = [];
    for (const [session, address] of this.#waiting) {
      if (sessions.length === MOST_IN_ENTRY) break;
      sessions.push(session);
      const known = digests.get(address) ?? [];
      digests.set(address, known);
      known.push(session.slice(0, -PADDING.length));
      this.#own.set(session, { sequence, counter: Infinity });
    }
    for (const session of sessions) this.#waiting.delete(session);
    this.#unacknowledged.set(sequence, sessions);
    return { sequence, fields: ['sessions', JSON.stringify([...digests])] };
  }

  /** Learns the sessions of an entry whose peers this upstream has. */
  #learn({ fields, counter }: RemoteEntry): void {
    const group = this.#parts.group();
    if (!group) return;
    for (const [address, digests] of toldIn(fields) ?? []) {
      const peer = group.peerAt(address);
      if (!peer) continue;
      for (const digest of digests) {
        const session = digest + PADDING;
        // A local entry that waits or was sent later comes after this entry in the stream, and counts.
        const isLater = this.#waiting.has(session) || (this.#own.get(session)?.counter ?? 0) > counter;
        if (!isLater) group.sessions.hear(session, peer);
      }
    }
  }
}

/** Reads sessions from the fields of an entry. Returns `undefined` if they are malformed, or too many. */
function toldIn([name, json = '', ...more]: readonly string[]): ToldSessions | undefined {
  if (name !== 'sessions' || more.length > 0) return undefined;
  let count = 0;
  const isTold = (one: unknown): boolean => {
    if (!Array.isArray(one) || one.length !== 2) return false;
    const [address, digests] = one as readonly unknown[];
    if (typeof address !== 'string' || address.length > LONGEST_ADDRESS || !Array.isArray(digests))
      return false;
    count += digests.length;
    return digests.every((digest) => typeof digest === 'string' && DIGEST.test(digest));
  };
  try {
    const told = JSON.parse(json) as unknown;
    const isList = Array.isArray(told) && told.length <= MOST_IN_ENTRY && told.every(isTold);
    return isList && count <= MOST_IN_ENTRY ? (told as ToldSessions) : undefined;
  } catch {
    return undefined;
  }
}
