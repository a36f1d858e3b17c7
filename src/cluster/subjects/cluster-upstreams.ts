import { createHash } from 'node:crypto';
import type { ClusterNode } from '../node/index.ts';
import type { Leaving, Sharing } from './sharing.ts';
import { type SharedUpstream, UpstreamsSubject } from './upstreams-subject.ts';
import { CallLost } from './worker-calls.ts';

/** Upstreams that begin to be shared within this time are read from the store together. */
const TOGETHER_MS = 50;
/** The time for a question between two workers, beside the time that the store may take. */
const ASKED_MS = 1_000;

/** The holder of a lease: this gateway or another one; `unknown`: the store has not told. */
export type LeaseHolder = 'ours' | 'others' | 'unknown';

interface LeaseQuestion {
  readonly name: string;
  readonly ttlMs: number;
}

/** The members of upstreams that are the same on all gateways. */
export class ClusterUpstreams {
  readonly #sharing: Sharing;
  /** The upstreams of all configurations, the latest last. */
  readonly #upstreams = new Set<SharedUpstream>();
  #subject: UpstreamsSubject | undefined;
  #unshare: (() => void) | undefined;
  #joining: NodeJS.Timeout | undefined;

  constructor(sharing: Sharing) {
    this.#sharing = sharing;
    sharing.answer('upstreams', () => {
      this.#subject?.changed();
      return Promise.resolve(true);
    });
    sharing.answer('lease', (question) => this.#lease(question as LeaseQuestion));
  }

  /** Shares the members of an upstream. Returns the function that ends this. Throws if another cluster shares them. */
  share(upstream: SharedUpstream): () => void {
    const { name, configured, membership } = upstream;
    const digest = createHash('sha256').update(`${configured} ${membership.room}`).digest('base64url');
    const { plan } = this.#sharing;
    if (!membership.share(plan.name, () => void this.#changed()))
      throw new Error(`upstream "${name}" is shared through "${plan.name}" and another cluster`);
    this.#upstreams.add(upstream);
    const undeclare = this.#sharing.share((node) => node.declare(`up:${name}`, digest));
    if (this.#unshare) this.#rejoin();
    else this.#join();
    return () => {
      undeclare();
      this.#upstreams.delete(upstream);
      if (this.#upstreams.size > 0) return;
      clearTimeout(this.#joining);
      this.#unshare?.();
      this.#unshare = undefined;
    };
  }

  /** Takes or renews a lease for `ttlMs`. Returns who holds it then. Never rejects. */
  async lease(name: string, ttlMs: number): Promise<LeaseHolder> {
    const { plan } = this.#sharing;
    try {
      const asked = this.#sharing.ask(
        'lease',
        { name, ttlMs } satisfies LeaseQuestion,
        plan.timeoutMs + ASKED_MS,
      );
      return (await asked) as LeaseHolder;
    } catch (error) {
      if (error instanceof CallLost) return 'unknown';
      throw error;
    }
  }

  async #lease({ name, ttlMs }: LeaseQuestion): Promise<LeaseHolder> {
    const { node } = this.#sharing;
    try {
      if (!node) return 'unknown';
      return (await node.lease(name, ttlMs)) ? 'ours' : 'others';
    } catch {
      // The store cannot be reached; the node reports that.
      return 'unknown';
    }
  }

  /** Shares all upstreams again, so that the state of a newly shared one is read from the store. */
  #rejoin(): void {
    clearTimeout(this.#joining);
    this.#joining = setTimeout(() => {
      this.#unshare?.();
      this.#join();
    }, TOGETHER_MS).unref();
  }

  #join(): void {
    this.#unshare = this.#sharing.share((node) => this.#joined(node));
  }

  #joined(node: ClusterNode): Leaving {
    const { log } = this.#sharing;
    const { nodeId, incarnation } = node;
    // The latest configuration with an upstream counts.
    const shared = (): ReadonlyMap<string, SharedUpstream> =>
      new Map([...this.#upstreams].map((upstream) => [upstream.name, upstream]));
    const subject = new UpstreamsSubject({ nodeId, incarnation, log, shared });
    this.#subject = subject;
    const leave = node.addKeyed(subject);
    return () => {
      leave();
      if (this.#subject === subject) this.#subject = undefined;
    };
  }

  /** Wakes the node after a change. If no worker runs it, the next one that does finds the change. */
  async #changed(): Promise<void> {
    try {
      await this.#sharing.ask('upstreams', undefined, ASKED_MS);
    } catch (error) {
      if (!(error instanceof CallLost)) throw error;
    }
  }
}
