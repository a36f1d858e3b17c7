import type { Counters } from '../zone/index.ts';
import type { ProbeOutcome } from './probe.ts';

const PROBES = { name: 'gw_health_probes_total', help: 'Probes of active checks by their result.' };
const TIME = {
  name: 'gw_health_probe_seconds',
  help: 'Duration of probes.',
  scale: 'seconds',
} as const;
const TRANSITIONS = {
  name: 'gw_health_transitions_total',
  help: 'Changes of what active checks say about a peer.',
};

interface PeerNames {
  readonly upstream: string;
  readonly peer: string;
}

/** Counts probes and transitions. A series appears with its first count. */
export class ProbeMeter {
  readonly #metrics: Counters;

  constructor(metrics: Counters) {
    this.#metrics = metrics;
  }

  probed({ upstream, peer }: PeerNames, { fault, spentMs }: ProbeOutcome): void {
    const result = fault === undefined ? 'passed' : 'failed';
    this.#metrics.counter(PROBES, { upstream, peer, result }).add();
    this.#metrics.histogram(TIME, { upstream, peer }).observe(spentMs / 1000);
  }

  changed({ upstream, peer, healthy }: PeerNames & { readonly healthy: boolean }): void {
    this.#metrics.counter(TRANSITIONS, { upstream, peer, to: healthy ? 'healthy' : 'unhealthy' }).add();
  }
}
