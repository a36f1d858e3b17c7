import type { LogContext } from '../../log/index.ts';
import type { ClusterNode } from '../node/index.ts';
import { KeptPosition } from './kept-position.ts';
import { PurgeQueue, type SharedCaches, type ZonePurge } from './purge-queue.ts';
import { PurgeSubject } from './purge-subject.ts';
import type { Leaving, Sharing } from './sharing.ts';
import { CallLost } from './worker-calls.ts';

/** How long one attempt to hand a purge to the worker that runs the node may take, and the number of attempts. */
const HANDING_MS = 1_000;
const MOST_HANDED = 10;

/** The purges of caches that all gateways repeat. */
export class ClusterPurges {
  readonly #sharing: Sharing;
  /** The caches of all locations and configurations, the latest last. */
  readonly #caches = new Set<SharedCaches>();
  /** Purges that are on their way to the node. */
  readonly #handing = new Set<Promise<void>>();
  #subject: PurgeSubject | undefined;
  #unshare: (() => void) | undefined;

  constructor(sharing: Sharing) {
    this.#sharing = sharing;
    sharing.answer('purges', (purges) => this.#add(purges as readonly ZonePurge[]));
  }

  /** Shares the purges of caches. Returns the function that ends this. */
  share(caches: SharedCaches): () => void {
    this.#caches.add(caches);
    this.#unshare ??= this.#sharing.share((node) => this.#join(node));
    return () => {
      this.#caches.delete(caches);
      if (this.#caches.size > 0) return;
      this.#unshare?.();
      this.#unshare = undefined;
    };
  }

  /** Tells the other nodes of purges on this node. Never rejects: a purge that cannot be handed over is logged, with its request. */
  async tell(purges: readonly ZonePurge[], context?: LogContext): Promise<void> {
    const handing = this.#hand(purges, context);
    this.#handing.add(handing);
    await handing;
    this.#handing.delete(handing);
  }

  /** Resolves when all purges so far were handed to the node, or given up. */
  async handed(): Promise<void> {
    await Promise.all(this.#handing);
  }

  async #hand(purges: readonly ZonePurge[], context: LogContext | undefined): Promise<void> {
    for (let attempt = 1; attempt <= MOST_HANDED; attempt += 1) {
      try {
        await this.#sharing.ask('purges', purges, HANDING_MS);
        return;
      } catch (error) {
        if (!(error instanceof CallLost)) throw error;
      }
    }
    const { log, plan } = this.#sharing;
    log.write(
      'error',
      `cluster "${plan.name}": a purge could not be handed to the node; other gateways do not know of it`,
      context,
    );
  }

  #join(node: ClusterNode): Leaving {
    const { plan, log } = this.#sharing;
    const position = new KeptPosition(plan.statePath, 'purges', log);
    const queue = new PurgeQueue({ shared: () => [...this.#caches].reverse(), position });
    const subject = new PurgeSubject(queue);
    this.#subject = subject;
    const leave = node.add(subject);
    return () => {
      leave();
      if (this.#subject === subject) this.#subject = undefined;
      return subject.close();
    };
  }

  #add(purges: readonly ZonePurge[]): Promise<true> {
    const subject = this.#subject;
    if (!subject) return Promise.reject(new CallLost('no purges are shared'));
    for (const purge of purges) subject.add(purge);
    return Promise.resolve(true);
  }
}
