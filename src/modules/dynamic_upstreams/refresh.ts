import type { WorkerScope } from '../../contract/index.ts';
import { MEMBER_CODES, MemberFault, type Membership } from '../../upstream/index.ts';
import type { Counter } from '../../zone/index.ts';
import type { GroupChanges } from './changes.ts';
import type { Source } from './sources/source.ts';

const FAILURES = {
  name: 'gw_upstream_refresh_failures_total',
  help: 'Times that the source of an upstream could not be read.',
};

/** The source has as much time for a response. */
const ASK_MS = 5000;
/** The workers look this often whether the one that asks is still alive. */
const LOOK_MS = 500;
const SILENCE_MS = 3 * LOOK_MS;

/** What a refresh needs to know of its location. */
interface RefreshOptions {
  readonly target: string;
  readonly source: string;
  readonly refreshMs: number;
  /** An empty list empties the group; otherwise it is a failure. */
  readonly acceptsEmpty: boolean;
}

/**
 * Asks a source again and again and changes the group accordingly. One worker does it for all; when it dies or hangs,
 * another one goes on.
 */
export class Refresh {
  readonly #source: Source;
  readonly #membership: Membership;
  readonly #changes: GroupChanges;
  readonly #options: RefreshOptions;
  readonly #worker: WorkerScope;
  readonly #failures: Counter;
  readonly #looking: NodeJS.Timeout;
  #nextMs = 0;
  #asking: AbortController | undefined;
  /** The failure that was told last; '': the source works. */
  #told = '';

  constructor(
    source: Source,
    { membership, changes }: { membership: Membership; changes: GroupChanges },
    { options, worker }: { options: RefreshOptions; worker: WorkerScope },
  ) {
    this.#source = source;
    this.#membership = membership;
    this.#changes = changes;
    this.#options = options;
    this.#worker = worker;
    this.#failures = worker.metrics.counter(FAILURES, { upstream: options.target, source: options.source });
    this.#looking = setInterval(() => this.#look(), Math.min(LOOK_MS, options.refreshMs));
    this.#looking.unref();
    // Requests of a configuration that was replaced may go on for hours; its source must not.
    worker.retiring.addEventListener('abort', () => this.close(), { once: true });
  }

  /** Asks for the first time. Resolves when the group has its peers, or the source has failed; never rejects. */
  start(): Promise<void> {
    return this.#membership.sourceSeat.hold(SILENCE_MS) ? this.#ask() : Promise.resolve();
  }

  close(): void {
    clearInterval(this.#looking);
    this.#asking?.abort();
    this.#membership.sourceSeat.leave();
  }

  #look(): void {
    if (!this.#membership.sourceSeat.hold(SILENCE_MS)) return;
    if (!this.#asking && performance.now() >= this.#nextMs) void this.#ask();
  }

  async #ask(): Promise<void> {
    const asking = (this.#asking = new AbortController());
    const timer = setTimeout(() => asking.abort(), ASK_MS);
    let validMs = 0;
    try {
      const found = await this.#source.ask(asking.signal);
      if (this.#worker.retiring.aborted) return;
      if (found) validMs = found.validMs ?? 0;
      await this.#apply(found?.members);
    } catch (error) {
      if (!this.#worker.retiring.aborted) this.#failed(error, asking.signal);
    } finally {
      clearTimeout(timer);
      this.#asking = undefined;
      this.#nextMs = performance.now() + Math.max(this.#options.refreshMs, validMs);
    }
  }

  async #apply(members: Parameters<Membership['put']>[0] | undefined): Promise<void> {
    if (members?.length === 0 && !this.#options.acceptsEmpty)
      throw new MemberFault(502, MEMBER_CODES.shape, 'the list of peers is empty');
    const changed = members !== undefined && this.#changes.refresh(members);
    this.#told = '';
    if (!changed) return this.#changes.refreshed();
    await this.#changes.written();
  }

  #failed(error: unknown, { aborted }: AbortSignal): void {
    const fault =
      error instanceof MemberFault && !aborted
        ? error
        : new MemberFault(502, MEMBER_CODES.unreadable, aborted ? 'it took too long' : String(error));
    const { target, source } = this.#options;
    this.#failures.add();
    const failure = `source "${source}" of upstream "${target}": ${fault.message}`;
    // A source that stays away is told once.
    if (this.#told === failure) return this.#changes.failed(fault.code);
    this.#told = failure;
    this.#worker.log.write('error', failure);
    this.#changes.refreshFailed(fault.code);
  }
}
