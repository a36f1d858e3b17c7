import { setTimeout as sleep } from 'node:timers/promises';
import { LateFault, withinTime } from '../../client/index.ts';
import type { LeaseHolder } from '../../cluster/index.ts';
import type { WorkerScope } from '../../contract/index.ts';
import { MEMBER_CODES, MemberFault, type Membership } from '../../upstream/index.ts';
import type { Counter } from '../../zone/index.ts';
import type { GroupChanges } from './changes.ts';
import type { Source } from './sources/source.ts';

const FAILURES = {
  name: 'gw_upstream_refresh_failures_total',
  help: 'Times that the source of an upstream could not be read.',
};

/** Timeout of a source. */
const ASK_MS = 5000;
/** The interval at which workers check whether the one that asks is alive. */
const LOOK_MS = 500;
const SILENCE_MS = 3 * LOOK_MS;

/** A gateway that asks for a cluster and is silent for so many refreshes is replaced by another one. */
const LEASED = 3;
const START_LOOK_MS = 25;

/** The right to ask the source for all gateways of a cluster. */
export interface SourceLease {
  /** Takes or renews the right for `ttlMs`. */
  hold(ttlMs: number): Promise<LeaseHolder>;
  /** Longest time for which a start waits for the store. */
  readonly startMs: number;
}

/** The settings of a refresh. */
interface RefreshOptions {
  readonly target: string;
  readonly source: string;
  readonly refreshMs: number;
  /** An empty list empties the group; otherwise it is a failure. */
  readonly acceptsEmpty: boolean;
}

type RefreshWorker = Pick<WorkerScope, 'metrics' | 'log' | 'retiring'>;

/** The function that opens a source, and the lease by which one gateway of a cluster asks it. */
export interface SourceAccess {
  /** Opens the source. An open source gives only what has changed. */
  readonly open: () => Source;
  /** Absent: every gateway asks for itself. */
  readonly lease: SourceLease | undefined;
}

/**
 * Asks a source regularly and changes the group accordingly. One worker asks for all; when it dies or hangs, another
 * one continues. In a cluster one gateway asks for all, or each for itself while the store cannot be reached.
 */
export class Refresh {
  readonly #access: SourceAccess;
  #source: Source;
  readonly #membership: Membership;
  readonly #changes: GroupChanges;
  readonly #options: RefreshOptions;
  readonly #worker: RefreshWorker;
  readonly #failures: Counter;
  readonly #looking: NodeJS.Timeout;
  #nextMs = 0;
  /** The last response of the source is valid until this time. */
  #validUntilMs = 0;
  /** The generation after the last refresh. */
  #generation: number | undefined;
  /** The last attempt to take the lease reached the store. */
  #isTold = false;
  #isAtWork = false;
  readonly #ending = new AbortController();
  /** The failure that was logged last; '' after a success. */
  #told = '';

  constructor(
    access: SourceAccess,
    { membership, changes }: { membership: Membership; changes: GroupChanges },
    { options, worker }: { options: RefreshOptions; worker: RefreshWorker },
  ) {
    this.#access = access;
    this.#source = access.open();
    this.#membership = membership;
    this.#changes = changes;
    this.#options = options;
    this.#worker = worker;
    this.#failures = worker.metrics.counter(FAILURES, { upstream: options.target, source: options.source });
    this.#looking = setInterval(() => this.#look(), Math.min(LOOK_MS, options.refreshMs));
    this.#looking.unref();
    // Requests of a replaced configuration may last for hours, but its source is not asked any more.
    worker.retiring.addEventListener('abort', () => this.close(), { once: true });
  }

  /** Asks for the first time. Resolves when the group has its peers or the source has failed; never rejects. */
  async start(): Promise<void> {
    if (!this.#membership.sourceSeat.hold(SILENCE_MS)) return;
    const untilMs = performance.now() + (this.#access.lease?.startMs ?? 0);
    await this.#work(async () => {
      for (;;) {
        const holder = await this.#holder();
        if (holder !== 'unknown' || performance.now() >= untilMs) return holder !== 'others';
        await sleep(START_LOOK_MS);
      }
    });
  }

  /** Stops, but keeps the seat for the next configuration in this thread. Without one, the seat expires. */
  close(): void {
    clearInterval(this.#looking);
    this.#ending.abort();
  }

  #look(): void {
    if (!this.#membership.sourceSeat.hold(SILENCE_MS)) return;
    if (!this.#isAtWork && performance.now() >= this.#nextMs) void this.#work(() => this.#isOurs());
  }

  async #work(isOurs: () => Promise<boolean>): Promise<void> {
    this.#isAtWork = true;
    try {
      if ((await isOurs()) && !this.#worker.retiring.aborted && this.#isDue()) await this.#ask();
    } finally {
      this.#isAtWork = false;
      this.#nextMs = performance.now() + this.#pauseMs;
      // A lease has to be renewed even if the source is not asked.
      if (!this.#access.lease) this.#nextMs = Math.max(this.#nextMs, this.#validUntilMs);
    }
  }

  get #pauseMs(): number {
    const { refreshMs } = this.#options;
    // Without the store all gateways ask, at different times.
    return this.#isTold || !this.#access.lease ? refreshMs : refreshMs * (0.5 + Math.random());
  }

  async #holder(): Promise<LeaseHolder> {
    const { lease } = this.#access;
    if (!lease) return 'ours';
    const holder = await lease.hold(LEASED * this.#options.refreshMs);
    this.#isTold = holder !== 'unknown';
    return holder;
  }

  /** Tells whether this gateway asks the source now. */
  async #isOurs(): Promise<boolean> {
    const wasTold = this.#isTold;
    const holder = await this.#holder();
    return holder === 'ours' || (holder === 'unknown' && !wasTold);
  }

  #isDue(): boolean {
    const { generation } = this.#membership.set;
    const isChanged = this.#access.lease !== undefined && generation !== this.#generation;
    // Another gateway has replaced the set since then: a new source gives all peers.
    if (isChanged && this.#generation !== undefined) this.#source = this.#access.open();
    return isChanged || performance.now() >= this.#validUntilMs;
  }

  async #ask(): Promise<void> {
    const ending = this.#ending.signal;
    this.#validUntilMs = 0;
    try {
      const found = await withinTime({ timeoutMs: ASK_MS, ending }, (signal) => this.#source.ask(signal));
      if (this.#worker.retiring.aborted) return;
      this.#validUntilMs = performance.now() + (found?.validMs ?? 0);
      await this.#apply(found?.members);
    } catch (error) {
      if (!ending.aborted) this.#failed(error);
    }
  }

  async #apply(members: Parameters<Membership['put']>[0] | undefined): Promise<void> {
    if (members?.length === 0 && !this.#options.acceptsEmpty)
      throw new MemberFault(502, MEMBER_CODES.shape, 'the list of peers is empty');
    const change = members && this.#changes.refresh(members);
    this.#generation = change?.set.generation ?? this.#generation;
    this.#told = '';
    if (!change?.changed) return this.#changes.refreshed();
    await this.#changes.written();
  }

  #failed(error: unknown): void {
    const reason = error instanceof LateFault ? 'it took too long' : String(error);
    const fault =
      error instanceof MemberFault ? error : new MemberFault(502, MEMBER_CODES.unreadable, reason);
    const { target, source } = this.#options;
    this.#failures.add();
    const failure = `source "${source}" of upstream "${target}": ${fault.message}`;
    // The same failure is logged once.
    if (this.#told === failure) return this.#changes.failed(fault.code);
    this.#told = failure;
    this.#worker.log.write('error', failure);
    this.#changes.refreshFailed(fault.code);
  }
}
