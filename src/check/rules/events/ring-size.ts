import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

const FEW = 16;

export const eventsRingSize: Rule = {
  id: 'GW805',
  slug: 'events-ring-size',
  severity: 'info',
  summary: 'a ring that keeps a handful of events',
  why: 'A burst of so many events overwrites the oldest before anybody who asks every few seconds has seen them.',
  fix: 'Keep as many as come between two looks: 1024 is the default, an entry takes less than a kilobyte.',
  bad: {
    text: `location = /events {
  worker_events_api;
  worker_events_zone bus;
  worker_events_channel cache;
  worker_events_ring_size 4;
}`,
  },
  good: {
    text: `location = /events {
  worker_events_api;
  worker_events_zone bus;
  worker_events_channel cache;
  worker_events_ring_size 512;
}`,
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, block } of config.uses('worker_events_ring_size')) {
      const size = block.config('worker_events')['ringSize'] as number | undefined;
      if (size === undefined || size >= FEW) continue;
      yield { at: node, message: `a ring of ${size} events loses the oldest in any burst` };
    }
  },
};
