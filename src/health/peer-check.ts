import type { Connections } from '../client/index.ts';
import type { Peer, ProbedPeer } from '../upstream/index.ts';
import type { CheckCell, Verdict } from '../zone/index.ts';
import type { CheckPlan } from './plan.ts';
import { type CompiledCheck, Probe, type ProbeOutcome } from './probe.ts';

/** The part of a check that all peers of a group share. */
export interface GroupCheck extends CompiledCheck {
  readonly plan: CheckPlan;
  /** Identifies the check in shared memory; not 0. */
  readonly digest: number;
  readonly connections: Connections;
}

/** Called with the outcome of a probe, in the thread that sent it. */
type ProbeReceiver = (check: PeerCheck, outcome: ProbeOutcome, before: Verdict) => void;

/** One check of one peer: sends a probe in each interval while this thread is the one that probes. */
export class PeerCheck {
  readonly peer: ProbedPeer;
  readonly check: GroupCheck;
  readonly cell: CheckCell;
  readonly #target: Peer;
  readonly #received: ProbeReceiver;
  #timer: NodeJS.Timeout | undefined;
  #probe: Probe | undefined;

  constructor(
    { peer, check, cell }: { peer: ProbedPeer; check: GroupCheck; cell: CheckCell },
    received: ProbeReceiver,
  ) {
    this.peer = peer;
    this.check = check;
    this.cell = cell;
    this.#target = targetOf(peer, check.plan);
    this.#received = received;
  }

  /** True if the peer takes no requests because this check has no result yet. */
  get isAwaited(): boolean {
    return this.check.plan.mandatory && this.cell.verdict === 'unknown';
  }

  /** Starts probing. The first probe is sent after `delayMs`, or when the interval after the last one is over. */
  start(delayMs: number): void {
    if (this.#timer || this.#probe) return;
    const { intervalMs } = this.check.plan;
    const { probedMs } = this.cell;
    const sinceMs = Date.now() - probedMs;
    // The clock of the machine may have been set.
    const isRecent = sinceMs >= 0 && sinceMs < intervalMs;
    this.#later(isRecent ? intervalMs - sinceMs : Math.min(delayMs, intervalMs));
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#probe?.cancel();
    this.#timer = this.#probe = undefined;
  }

  #later(ms: number): void {
    this.#timer = setTimeout(() => this.#send(), ms);
    this.#timer.unref();
  }

  #send(): void {
    this.#timer = undefined;
    const startedMs = performance.now();
    this.#probe = new Probe(this.check, (outcome) => {
      this.#probe = undefined;
      const { intervalMs, jitterMs } = this.check.plan;
      const nextMs = startedMs + intervalMs + Math.random() * jitterMs - performance.now();
      this.#later(Math.max(0, nextMs));
      this.#take(outcome);
    });
    this.#probe.begin(this.#target, this.check.connections);
  }

  #take(outcome: ProbeOutcome): void {
    const { plan } = this.check;
    const { cell } = this;
    const before = cell.verdict;
    const passed = outcome.fault === undefined;
    const endedMs = Date.now();
    cell.count(passed, { status: outcome.status, spentMs: outcome.spentMs, endedMs });
    if (passed && (before === 'unknown' || (before === 'unhealthy' && cell.passes >= plan.passes)))
      // The first result is not a recovery.
      cell.decide('healthy', before === 'unknown' ? 0 : endedMs);
    if (!passed && before !== 'unhealthy' && (this.isAwaited || cell.fails >= plan.fails))
      cell.decide('unhealthy', endedMs);
    this.#received(this, outcome, before);
  }
}

/** Returns the target of the probes: the peer, its host with another port, or another address. */
function targetOf({ address: own, name, id }: Peer, { address, port }: CheckPlan): Peer {
  if (address !== undefined) return { address, name, id };
  const isSocket = own.startsWith('unix:');
  if (port === undefined || isSocket) return { address: own, name, id };
  return { address: `${own.slice(0, own.lastIndexOf(':'))}:${port}`, name, id };
}
