import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Counter } from '../../zone/index.ts';
import { FALLBACK, LEASE_CALLS } from './cluster-limits.ts';
import { LOST, type QuotaDemand, QuotaLeases, type QuotaVerdict } from './quota-leases.ts';
import type { Sharing } from './sharing.ts';
import { CallLost } from './worker-calls.ts';

/** A request of a shared quota. */
interface QuotaRequest extends Omit<QuotaDemand, 'keyHash' | 'ttlMs'> {
  /** The value of the quota's key. */
  readonly key: string;
  /** The window, in ms since the epoch. */
  readonly startMs: number;
  readonly endMs: number;
}

/** The store keeps a count for this time after its window: the clocks of gateways may differ. */
const KEPT_AFTER_MS = 60_000;
/** Refusals that the worker which runs the node need not be asked for again, and for how long. */
const MOST_REFUSALS = 10_000;
const REFUSAL_MS = 1_000;

interface Refusal {
  readonly left: number;
  readonly untilMs: number;
}

interface QuotaMetrics {
  readonly calls: Counter;
  readonly fallbacks: Counter;
}

/** The quotas that hold for all gateways together: one counter for each key and window. */
export class ClusterQuotas {
  readonly #sharing: Sharing;
  readonly #metrics = new Map<string, QuotaMetrics>();
  readonly #refusals = new LRUCache<string, Refusal>({ max: MOST_REFUSALS });
  readonly #leases: QuotaLeases;

  constructor(sharing: Sharing) {
    this.#sharing = sharing;
    this.#leases = new QuotaLeases({
      ...sharing.plan.limits,
      liveNodes: () => sharing.node?.liveNodes ?? 1,
      take: async (counting) => {
        const { node } = sharing;
        if (!node) throw new CallLost('another worker runs the node now');
        this.#metricsOf(counting.zone).calls.add();
        return node.count(counting);
      },
    });
    sharing.answer('quota', (demand) => this.#leases.count(demand as QuotaDemand));
    sharing.answer('quota back', (demand) => this.#leases.giveBack(demand as QuotaDemand));
  }

  /** Tells the other gateways the parameters of a quota. Returns the function that ends this. */
  share(zone: string, digest: string): () => void {
    this.#metricsOf(zone);
    return this.#sharing.share((node) => node.declare(`qu:${zone}`, digest));
  }

  /** Counts a request for all gateways. Never rejects, and takes no longer than `limits wait`. */
  async count(request: QuotaRequest): Promise<QuotaVerdict> {
    const demand = demandOf(request);
    const refusal = this.#refusals.get(demand.keyHash);
    if (refusal && performance.now() < refusal.untilMs && demand.cost > refusal.left)
      return { verdict: 'refused', left: refusal.left };
    const verdict = await this.#verdictOf(demand);
    if (verdict.verdict === 'refused')
      this.#refusals.set(demand.keyHash, { left: verdict.left, untilMs: performance.now() + REFUSAL_MS });
    if (verdict.verdict === 'lost') this.#metricsOf(demand.zone).fallbacks.add();
    return verdict;
  }

  /** Takes back a request that was counted, and was refused for another reason. */
  giveBack(request: QuotaRequest): void {
    const { waitMs } = this.#sharing.plan.limits;
    void this.#sharing.ask('quota back', demandOf(request), waitMs).catch(() => undefined);
  }

  async #verdictOf(demand: QuotaDemand): Promise<QuotaVerdict> {
    try {
      return (await this.#sharing.ask('quota', demand, this.#sharing.plan.limits.waitMs)) as QuotaVerdict;
    } catch (error) {
      if (error instanceof CallLost) return LOST;
      throw error;
    }
  }

  #metricsOf(zone: string): QuotaMetrics {
    const { metrics } = this.#sharing;
    const labels = { zone: `quota ${zone}` };
    const known = this.#metrics.get(zone) ?? {
      calls: metrics.counter(LEASE_CALLS, labels),
      fallbacks: metrics.counter(FALLBACK, labels),
    };
    this.#metrics.set(zone, known);
    return known;
  }
}

/** Hashed: the text comes from clients, and can have any length. */
function demandOf({ key, startMs, endMs, ...request }: QuotaRequest): QuotaDemand {
  const keyHash = createHash('sha256').update(`${startMs} ${request.zone} ${key}`).digest('base64url');
  return { ...request, keyHash, ttlMs: Math.max(0, endMs - Date.now()) + KEPT_AFTER_MS };
}
