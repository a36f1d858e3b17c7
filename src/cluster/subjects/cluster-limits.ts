import { createHash } from 'node:crypto';
import type { Counter, Counters, Metric } from '../../zone/index.ts';
import { type Bucket, bucketId, LimitLeases, LOST, Refusals, type Verdict } from './limit-leases.ts';
import type { Sharing } from './sharing.ts';
import { CallLost } from './worker-calls.ts';

export const LEASE_CALLS: Metric = {
  name: 'gw_limit_lease_calls_total',
  help: 'Calls to the store of a cluster for requests of a limit.',
};
export const FALLBACK: Metric = {
  name: 'gw_limit_fallback_total',
  help: 'Requests for which the store of a cluster did not decide in time.',
};

/** The counters of a shared rate limit. */
interface LimitMetrics {
  readonly calls: Counter;
  readonly fallbacks: Counter;
}

function limitMetrics(metrics: Counters, zone: string): LimitMetrics {
  return { calls: metrics.counter(LEASE_CALLS, { zone }), fallbacks: metrics.counter(FALLBACK, { zone }) };
}

/** A request of a shared rate limit; rates and fills are in thousandths of requests. */
interface LimitedRequest extends Omit<Bucket, 'keyHash'> {
  /** The value of the limit's key. */
  readonly key: string;
}

/** The rate limits that hold for all gateways together. */
export class ClusterLimits {
  readonly #sharing: Sharing;
  readonly #metrics = new Map<string, LimitMetrics>();
  /** Refusals that the worker which runs the node need not be asked for again. */
  readonly #refusals = new Refusals();
  readonly #leases: LimitLeases;

  constructor(sharing: Sharing) {
    this.#sharing = sharing;
    this.#leases = new LimitLeases({
      ...sharing.plan.limits,
      liveNodes: () => sharing.node?.liveNodes ?? 1,
      take: async (admitting) => {
        const { node } = sharing;
        if (!node) throw new CallLost('another worker runs the node now');
        this.#metricsOf(admitting.zone).calls.add();
        return node.admit(admitting);
      },
    });
    sharing.answer('limit', (bucket) => this.#leases.admit(bucket as Bucket));
  }

  /** Tells the other gateways the parameters of a rate limit. Returns the function that ends this. */
  share(zone: string, digest: string): () => void {
    this.#metricsOf(zone);
    return this.#sharing.share((node) => node.declare(`li:${zone}`, digest));
  }

  /** Counts a request in a bucket that all gateways share. Never rejects, and takes no longer than `limits wait`. */
  async admit({ key, ...limit }: LimitedRequest): Promise<Verdict> {
    // Hashed: the text comes from clients, and can have any length.
    const bucket = { ...limit, keyHash: createHash('sha256').update(key).digest('base64url') };
    const id = bucketId(bucket);
    const refusal = this.#refusals.find(id, bucket);
    if (refusal) return refusal;
    const verdict = await this.#verdictOf(bucket);
    if (verdict.verdict === 'refused') this.#refusals.add(id, verdict.excess);
    if (verdict.verdict === 'lost') this.#metricsOf(limit.zone).fallbacks.add();
    return verdict;
  }

  async #verdictOf(bucket: Bucket): Promise<Verdict> {
    try {
      const { waitMs } = this.#sharing.plan.limits;
      return (await this.#sharing.ask('limit', bucket, waitMs)) as Verdict;
    } catch (error) {
      if (error instanceof CallLost) return LOST;
      throw error;
    }
  }

  #metricsOf(zone: string): LimitMetrics {
    const known = this.#metrics.get(zone) ?? limitMetrics(this.#sharing.metrics, zone);
    this.#metrics.set(zone, known);
    return known;
  }
}
