import { randomBytes } from 'node:crypto';
import type { Sessions, UpstreamGroup } from '../../upstream/index.ts';
import { DictionaryFault } from '../../zone/index.ts';
import type { AcknowledgedEntry, RemoteEntry, Subject, Taken } from '../node/index.ts';

/** An upstream whose sessions the gateways share, as a worker has it. */
export interface SessionGroup extends Pick<UpstreamGroup, 'peerAt'> {
  readonly sessions: Sessions;
}

interface SessionsSubjectParts {
  readonly zone: string;
  /** Of the parameters of the sessions. */
  readonly digest: string;
  /** In the latest configuration. */
  readonly group: () => SessionGroup | undefined;
  /** Counts sessions that other gateways are not told of. */
  readonly dropped: (count: number) => void;
}

/** The last entries that a gateway begins with. Sessions in use are told anew within a part of their timeout. */
const HISTORY = 2_000;
/** Sessions of one entry, which then has less than 2 KiB. */
const MOST_IN_ENTRY = 64;
/** Sessions that a gateway tells in a second. */
const MOST_PER_SECOND = 2_000;
/** Entries that the store has not acknowledged: what else waits for it must have room. */
const MOST_UNACKNOWLEDGED = 128;
const MOST_WAITING = 10_000;
const LONGEST_ADDRESS = 128;
/** The MD5 of a session in base64, without the padding that all of them have. */
const DIGEST = /^[\w+/]{22}$/;
const PADDING = '==';

/** Addresses of peers, and the digests of the sessions of each. */
type ToldSessions = readonly (readonly [address: string, digests: readonly string[]])[];

/** The sessions of `sticky learn`, which all nodes learn. Of several peers of a session, that of the last entry counts. */
export class SessionsSubject implements Subject {
  readonly stream: string;
  readonly digest: string;
  readonly incarnation = randomBytes(9).toString('hex');
  readonly history = HISTORY;
  readonly position = undefined;
  readonly #parts: SessionsSubjectParts;
  /** Addresses by session, the oldest first. */
  readonly #waiting = new Map<string, string>();
  /** By sequence. */
  readonly #unacknowledged = new Map<number, readonly string[]>();
  /** Own entries that other nodes read behind what is applied here: their counters by session, Infinity until it is known. */
  readonly #own = new Map<string, { readonly sequence: number; readonly counter: number }>();
  #sequence = 0;
  /** The present second, and the sessions that it has had. */
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
    // A session that was missed is one that this gateway does not know.
  }

  /** Which ones did not leave is not said; those that did are read again. */
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

  /** Learns the sessions of an entry whose peers are in the set. */
  #learn({ fields, counter }: RemoteEntry): void {
    const group = this.#parts.group();
    if (!group) return;
    for (const [address, digests] of toldIn(fields) ?? []) {
      const peer = group.peerAt(address);
      if (!peer) continue;
      for (const digest of digests) {
        const session = digest + PADDING;
        // What is on its way will be behind this entry.
        const isLater = this.#waiting.has(session) || (this.#own.get(session)?.counter ?? 0) > counter;
        if (!isLater) group.sessions.hear(session, peer);
      }
    }
  }
}

/** Reads sessions that come from the store; `undefined` if they are none, or too many. */
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
