import type { ErrorLog } from '../../log/index.ts';
import type { ObservedTrace, PeerTable } from '../../zone/index.ts';
import type { StickyMeter } from '../meters.ts';
import { isPanicking, type LivePeer, type PeerSet, type Pick, type Progress } from './live-peers.ts';
import type { Probing, BalancingInput, Outcome, Peer, PeerBinding, Selection } from '../interfaces.ts';
import { boundPeer } from './round-robin.ts';

/** The state that all selections of a group share until its peers change. */
export interface GroupState {
  readonly set: PeerSet;
  readonly pick: Pick;
  readonly table: PeerTable;
  readonly log: ErrorLog;
  /** Returns the time of a clock that all workers share, in ms. */
  readonly nowMs: () => number;
  /** Mean times are measured: the balancing method needs them. */
  readonly isTimed: boolean;
  readonly sticky: StickyMeter | undefined;
  /** Present if the group has active checks. */
  readonly probing: Probing | undefined;
}

/** Tells whether a request names no peer. */
function isNew({ id, address, hash }: PeerBinding): boolean {
  return id === '' && address === undefined && hash === undefined;
}

/** Tells whether a request to a peer uses up one of its tries. */
function isTry(outcome: Outcome): boolean {
  return outcome !== 'stale' && outcome !== 'unprocessed';
}

/** The selection of peers for one request, with nginx's accounting of failures. */
export class PeerSelection implements Selection {
  readonly #ground: GroupState;
  readonly #progress: Progress;
  #peer: LivePeer | undefined;
  #tries: number;
  #startedMs = 0;
  /** A peer was looked for. */
  #isDecided = false;
  /** A peer was chosen: this is not the first try. */
  #isPicked = false;
  /** Time to the head of the response; -1: none has arrived. */
  #headMs = -1;
  #isStream = false;
  /**
   * Set if this request is the trial of a peer that was unavailable: the second of the trial, and the value of
   * `checked` before.
   */
  #trial: { readonly second: number; readonly before: number } | undefined;

  constructor(ground: GroupState, ask: BalancingInput) {
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
    const { table, nowMs } = this.#ground;
    const peer = table.locked(() => this.#take(nowMs()));
    this.#peer = peer;
    if (!peer) return undefined;
    peer.meter.given();
    this.#progress.ask.binding?.picked?.(peer);
    return peer;
  }

  headArrived(isStream: boolean): void {
    this.#isStream = isStream;
    this.#headMs = this.#ground.nowMs() - this.#startedMs;
    if (this.#peer) this.#progress.ask.binding?.headArrived?.(this.#peer);
  }

  done(outcome: Outcome, trace?: ObservedTrace): void {
    const peer = this.#peer;
    if (!peer) return;
    this.#peer = undefined;
    const { table, nowMs, isTimed } = this.#ground;
    const isFailure = outcome === 'failed' || outcome === 'stale';
    const ms = nowMs() - this.#startedMs;
    peer.state.leave(this.#startedMs);
    peer.meter.done((this.#isStream ? this.#headMs : ms) / 1000, isFailure, trace);
    if (outcome === 'ok') this.#progress.ask.binding?.ended?.(peer);
    if (outcome === 'ok' || outcome === 'failed') peer.state.ended(outcome === 'failed');
    if (isTimed && outcome === 'ok') table.locked(() => this.#measure(peer, ms));
    if (this.#progress.set.isSingle) {
      this.#tries = isTry(outcome) ? 0 : 1;
      return;
    }
    if (isTry(outcome)) this.#tries = Math.max(0, this.#tries - 1);
    if (isFailure) table.locked(() => this.#blame(peer));
    else if (peer.state.fails > 0) table.locked(() => this.#clear(peer, outcome));
  }

  /** Chooses a peer and counts the request. Must be called under the lock. */
  #take(nowMs: number): LivePeer | undefined {
    const progress = this.#progress;
    const { binding } = progress.ask;
    const { probing } = this.#ground;
    if (probing && probing.panicPercent > 0)
      probing.isIgnored = isPanicking(progress.set, probing.panicPercent);
    const { set } = progress;
    let bound = binding && boundPeer(progress, binding, nowMs);
    const picked = bound || binding?.isStrict ? undefined : this.#ground.pick(progress, nowMs);
    // With the backups in their place, the request may be bound to one of these.
    if (binding && picked && progress.set !== set) bound = boundPeer(progress, binding, nowMs);
    const peer = bound ?? picked;
    if (!this.#isDecided) binding?.decided?.(bound !== undefined);
    this.#isDecided = true;
    if (!peer) return undefined;
    if (binding && !this.#isPicked)
      this.#ground.sticky?.count(bound ? 'bound' : isNew(binding) ? 'new' : 'moved');
    this.#isPicked = true;
    const { state, failTimeoutSeconds } = peer;
    const second = Math.floor(nowMs / 1000);
    state.enter(nowMs);
    this.#startedMs = nowMs;
    this.#headMs = -1;
    this.#isStream = false;
    if (progress.set.isSingle) return peer;
    progress.tried.push(peer);
    this.#trial = undefined;
    if (second - state.checked <= failTimeoutSeconds) return peer;
    this.#trial = { second, before: state.checked };
    state.checked = second;
    return peer;
  }

  #blame({ state, weight, maxFails, address }: LivePeer): void {
    const second = Math.floor(this.#ground.nowMs() / 1000);
    state.fails += 1;
    state.accessed = second;
    state.checked = second;
    if (maxFails === 0) return;
    state.effectiveWeight = Math.max(0, state.effectiveWeight - Math.trunc(weight / maxFails));
    if (state.fails >= maxFails)
      this.#ground.log.write('warn', `upstream server temporarily disabled, upstream: "${address}"`);
  }

  /** After a successful trial, the peer is available again. If the trial was not used, the next request may try. */
  #clear({ state, maxFails, slowStartMs }: LivePeer, outcome: Outcome): void {
    if (state.accessed >= state.checked) return;
    if (outcome === 'unused' || outcome === 'unprocessed') {
      if (this.#trial?.second === state.checked) state.checked = this.#trial.before;
      return;
    }
    if (slowStartMs > 0 && maxFails > 0 && state.fails >= maxFails)
      state.slowStartFrom = this.#ground.nowMs();
    state.fails = 0;
  }

  #measure({ state }: LivePeer, lastByteMs: number): void {
    state.lastByteMean = averageOf(state.lastByteMean, lastByteMs);
    if (this.#headMs >= 0) state.headMean = averageOf(state.headMean, this.#headMs);
  }
}

/** The part of a moving average that a new value replaces. */
const NEW_PART = 0.05;

function averageOf(mean: number, ms: number): number {
  return mean === 0 ? ms : mean + (ms - mean) * NEW_PART;
}
