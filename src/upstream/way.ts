import type { ErrorLog } from '../log/index.ts';
import type { PeerTable } from '../zone/index.ts';
import type { LivePeer, PeerSet, Pick, Progress } from './balancing/index.ts';
import type { Ask, Outcome, Peer, Selection } from './selection.ts';

/** What the ways of all requests through one group share, until its peers change. */
export interface Ground {
  readonly set: PeerSet;
  readonly pick: Pick;
  readonly table: PeerTable;
  readonly log: ErrorLog;
  /** The second, by a clock that all workers share. */
  readonly now: () => number;
}

/** One request's way through the peers of a group, with nginx's accounting of failures. */
export class Way implements Selection {
  readonly #ground: Ground;
  readonly #progress: Progress;
  #peer: LivePeer | undefined;
  #tries: number;
  #startedMs = 0;
  /** Second in which this request was let through to a peer that had rested, and what stood there before. */
  #trial: { readonly second: number; readonly before: number } | undefined;

  constructor(ground: Ground, ask: Ask) {
    const { set } = ground;
    this.#ground = ground;
    this.#progress = { ask, set, tried: [], hash: -1, rehash: 0, misses: 0 };
    this.#tries = set.tries + (set.backups?.tries ?? 0);
  }

  get tries(): number {
    return this.#tries;
  }

  get peer(): Peer | undefined {
    return this.#peer;
  }

  next(): Peer | undefined {
    this.done('unused');
    const { table, pick, now } = this.#ground;
    const peer = table.locked(() => this.#take(pick(this.#progress, now()), now()));
    this.#peer = peer;
    if (!peer) return undefined;
    peer.meter.given();
    this.#startedMs = performance.now();
    return peer;
  }

  done(outcome: Outcome): void {
    const peer = this.#peer;
    if (!peer) return;
    this.#peer = undefined;
    const isFailure = outcome === 'failed' || outcome === 'stale';
    peer.state.leave();
    peer.meter.done((performance.now() - this.#startedMs) / 1000, isFailure);
    if (this.#progress.set.isSingle) {
      this.#tries = outcome === 'stale' ? 1 : 0;
      return;
    }
    if (outcome !== 'stale') this.#tries = Math.max(0, this.#tries - 1);
    if (isFailure) this.#ground.table.locked(() => this.#blame(peer));
    else if (peer.state.fails > 0) this.#ground.table.locked(() => this.#clear(peer, outcome));
  }

  /** Under the lock. */
  #take(peer: LivePeer | undefined, now: number): LivePeer | undefined {
    if (!peer) return undefined;
    const { state, failTimeoutSeconds } = peer;
    state.enter();
    if (this.#progress.set.isSingle) return peer;
    this.#progress.tried.push(peer);
    this.#trial = undefined;
    if (now - state.checked <= failTimeoutSeconds) return peer;
    this.#trial = { second: now, before: state.checked };
    state.checked = now;
    return peer;
  }

  #blame({ state, weight, maxFails, address }: LivePeer): void {
    const now = this.#ground.now();
    state.fails += 1;
    state.accessed = now;
    state.checked = now;
    if (maxFails === 0) return;
    state.effectiveWeight = Math.max(0, state.effectiveWeight - Math.trunc(weight / maxFails));
    if (state.fails >= maxFails)
      this.#ground.log.write('warn', `upstream server temporarily disabled, upstream: "${address}"`);
  }

  /** A peer that was given one request after its rest is alive if that went well; if it came to nothing, the next one may try. */
  #clear({ state }: LivePeer, outcome: Outcome): void {
    if (state.accessed >= state.checked) return;
    if (outcome !== 'unused') state.fails = 0;
    else if (this.#trial?.second === state.checked) state.checked = this.#trial.before;
  }
}
