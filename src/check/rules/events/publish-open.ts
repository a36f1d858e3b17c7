import { exposed } from '../../exposure.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

export const eventsPublishOpen: Rule = {
  id: 'GW801',
  slug: 'events-publish-open',
  severity: 'error',
  summary: 'worker events that everybody may publish',
  why: 'Whoever finds the address makes the workers and all who listen believe what he writes, and pushes real events out of the ring.',
  fix: 'Set worker_events_publish_key, or let in only whom you know.',
  bad: {
    in: 'http',
    text: `server {
  listen 80;
  location = /events { worker_events_api; worker_events_zone bus; worker_events_channel cache; }
}`,
  },
  good: {
    in: 'http',
    text: `server {
  listen 80;
  location = /events {
    worker_events_api;
    worker_events_zone bus;
    worker_events_channel cache;
    limit_except GET { allow 10.0.0.0/8; deny all; }
  }
}`,
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node } of exposed(config, 'events-publish-open')) {
      yield {
        at: node,
        message: '"worker_events_api" lets everybody publish',
        hint: 'add worker_events_publish_key, or allow and deny in "limit_except GET"',
      };
    }
  },
};
