import { type Dictionary, monotonicMs } from '../../zone/index.ts';

/** A peer of a session. */
interface Peer {
  readonly id: string;
  readonly address: string;
}

/** Hears of a session that is new, has moved to another peer, or was not told for some time. */
type SessionTold = (session: string, address: string) => void;

/** Other gateways hear of a session in use again after this part of its timeout. */
const TOLD_PART = 4;
/** Stands between the id of a peer and when the session was told, in ms. */
const MARK = '\0';

/** The sessions of `sticky learn` by their digests, and the ids of their peers. Methods throw as a `Dictionary` does. */
export class Sessions {
  readonly #zone: Dictionary;
  readonly #timeoutMs: number;
  #told: SessionTold | undefined;

  constructor(zone: Dictionary, timeoutMs: number) {
    this.#zone = zone;
    this.#timeoutMs = timeoutMs;
  }

  /** From now on other gateways hear of sessions. */
  tell(told: SessionTold): void {
    this.#told = told;
  }

  /** How many sessions had to go for others. */
  get evicted(): number {
    return this.#zone.facts().evicted;
  }

  /** Returns the id of the peer of a session; '' if it is not known. */
  find(session: string): string {
    return idIn(this.#valueOf(session));
  }

  /** A session has begun, or goes on. */
  learn(session: string, peer: Peer): void {
    if (this.#told) this.#tell(session, peer, this.#told);
    else this.#zone.set(session, peer.id, this.#timeoutMs);
  }

  /**
   * A request of a session has ended with a peer; `found` is what `find` gave at its beginning. A session that was not learnt before is
   * not created by a request that merely names one.
   */
  renew(session: string, peer: Peer, found: string): void {
    if (!this.#told) return void this.#zone.replace(session, peer.id, this.#timeoutMs);
    // A session from another gateway takes precedence, unless this request itself has moved.
    const isMoved = found !== '' && found !== peer.id;
    if (isMoved || (found !== '' && this.find(session) === found)) this.#tell(session, peer, this.#told);
  }

  /** Another gateway has learnt a session, or goes on with it. */
  hear(session: string, peer: Peer): void {
    this.#zone.set(session, `${peer.id}${MARK}${Math.floor(monotonicMs())}`, this.#timeoutMs);
  }

  #tell(session: string, peer: Peer, told: SessionTold): void {
    const known = this.#valueOf(session);
    const toldMs = Number(known.slice(known.indexOf(MARK) + 1));
    const isTold = idIn(known) === peer.id && monotonicMs() - toldMs < this.#timeoutMs / TOLD_PART;
    if (isTold) return this.#zone.set(session, known, this.#timeoutMs);
    this.hear(session, peer);
    told(session, peer.address);
  }

  #valueOf(session: string): string {
    const value = this.#zone.get(session);
    return typeof value === 'string' ? value : '';
  }
}

/** Sessions that were learnt before they were shared, and are so no more, have the other form. */
function idIn(value: string): string {
  const end = value.indexOf(MARK);
  return end < 0 ? value : value.slice(0, end);
}
