import type { Counters, Ring } from '../../zone/index.ts';

const PUBLISHED = { name: 'gw_events_published_total', help: 'Events that were published into a ring.' };
const DROPPED = { name: 'gw_events_dropped_total', help: 'Events that later ones have overwritten.' };

/** Shows how much has gone through a ring: its generations count from 1. Gives the end of it. */
export function showRing(metrics: Counters, zone: string, ring: Ring): () => void {
  const labels = { zone };
  const ends = [
    metrics.collect('counter', { metric: PUBLISHED, labels, read: () => ring.range()?.newest ?? NaN }),
    metrics.collect('counter', { metric: DROPPED, labels, read: () => (ring.range()?.oldest ?? NaN) - 1 }),
  ];
  return () => {
    for (const end of ends) end();
  };
}
