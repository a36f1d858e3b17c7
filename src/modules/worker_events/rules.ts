import { constantText } from '../../config/index.ts';
import type { ModuleRule, Problem } from '../../contract/index.ts';
import type { WorkerEventsConfig } from './directives.ts';

const eventsPublishOpen: ModuleRule<WorkerEventsConfig> = {
  id: 'GW801',
  slug: 'events-publish-open',
  severity: 'error',
  summary: 'worker events that anyone can publish',
  why: 'Anyone who finds the address can send forged events to all workers and listeners, and so displace real events from the ring.',
  fix: 'Set "worker_events_publish_key", or restrict access with "allow" and "deny".',
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
  *check(config): Iterable<Problem> {
    for (const { node } of config.exposed('events-publish-open')) {
      yield {
        at: node,
        message: '"worker_events_api" lets anyone publish',
        hint: 'add "worker_events_publish_key", or "allow" and "deny" in "limit_except GET"',
      };
    }
  },
};

const eventsKeyQuery: ModuleRule<WorkerEventsConfig> = {
  id: 'GW802',
  slug: 'events-key-query',
  severity: 'warning',
  summary: 'the key for publishing is part of a URL',
  why: 'URLs are logged by proxies and kept by browsers; gw can mask the key only in its own logs.',
  fix: 'Send it as a header: "proxy_set_header X-Publish-Key …;".',
  bad: {
    text: `location = /events {
  worker_events_api;
  worker_events_zone bus;
  worker_events_channel cache;
  worker_events_publish_key \${file:events.key};
}
location = /purged { proxy_pass http://127.0.0.1:8080/events?key=\${file:events.key}; }`,
    files: { 'events.key': 'tR7uWx2LqPz9Vb4N' },
  },
  good: {
    text: `location = /events {
  worker_events_api;
  worker_events_zone bus;
  worker_events_channel cache;
  worker_events_publish_key \${file:events.key};
}
location = /purged {
  proxy_pass http://127.0.0.1:8080/events;
  proxy_set_header X-Publish-Key \${file:events.key};
}`,
    files: { 'events.key': 'tR7uWx2LqPz9Vb4N' },
  },
  *check(config): Iterable<Problem> {
    if (config.uses('worker_events_publish_key').length === 0) return;
    for (const { node } of config.uses('proxy_pass', 'return', 'rewrite', 'mirror', 'auth_request')) {
      if (!node.args.some(({ value }) => /[?&]key=./.test(value))) continue;
      yield {
        at: node,
        message: `"${node.name.value}" writes the key for publishing into a URL`,
        hint: 'send it as header "X-Publish-Key"',
      };
    }
  },
};

const LEAST_KEY_BYTES = 16;

const eventsKeyWeak: ModuleRule<WorkerEventsConfig> = {
  id: 'GW803',
  slug: 'events-key-weak',
  severity: 'error',
  summary: 'a key for publishing that can be guessed',
  why: 'Anyone who guesses it can send forged events to workers and listeners.',
  fix: 'Use at least 16 random bytes: "gw secret" prints a key.',
  bad: {
    text: `location = /events {
  worker_events_api;
  worker_events_zone bus;
  worker_events_channel cache;
  worker_events_publish_key \${file:events.key};
}`,
    files: { 'events.key': 's3same' },
  },
  good: {
    text: `location = /events {
  worker_events_api;
  worker_events_zone bus;
  worker_events_channel cache;
  worker_events_publish_key \${file:events.key};
}`,
    files: { 'events.key': 'tR7uWx2LqPz9Vb4N' },
  },
  *check(config): Iterable<Problem> {
    for (const { node, block } of config.uses('worker_events_publish_key')) {
      const key = config.configIn(block).publishKey;
      const text = key && constantText(key);
      if (text === undefined || text === '') continue;
      const bytes = Buffer.byteLength(text);
      if (bytes >= LEAST_KEY_BYTES) continue;
      yield {
        at: node,
        message: `"worker_events_publish_key" has ${bytes} bytes, but needs at least ${LEAST_KEY_BYTES}`,
        hint: '"gw secret" prints one',
      };
    }
  },
};

const eventsZoneMissing: ModuleRule<WorkerEventsConfig> = {
  id: 'GW804',
  slug: 'events-zone-missing',
  severity: 'error',
  summary: 'worker events without a zone or a channel',
  why: 'The configuration does not load.',
  fix: 'Set both "worker_events_zone" and "worker_events_channel".',
  bad: { text: 'location = /events { worker_events_api; worker_events_channel cache; }' },
  good: {
    text: 'location = /events { worker_events_api; worker_events_zone bus; worker_events_channel cache; }',
  },
};

const FEW_EVENTS = 16;

const eventsRingSize: ModuleRule<WorkerEventsConfig> = {
  id: 'GW805',
  slug: 'events-ring-size',
  severity: 'info',
  summary: 'a ring that keeps only a few events',
  why: 'A burst of events overwrites the oldest ones before clients that poll every few seconds have seen them.',
  fix: 'Make the ring as large as the number of events between two polls. The default is 1024; an entry takes less than a kilobyte.',
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
  *check(config): Iterable<Problem> {
    for (const { node, block } of config.uses('worker_events_ring_size')) {
      const size = config.configIn(block).ringSize;
      if (size === undefined || size >= FEW_EVENTS) continue;
      yield { at: node, message: `a ring of ${size} events loses the oldest in any burst` };
    }
  },
};

/** The rules about worker events. */
export const rules: readonly ModuleRule<WorkerEventsConfig>[] = [
  eventsPublishOpen,
  eventsKeyQuery,
  eventsKeyWeak,
  eventsZoneMissing,
  eventsRingSize,
];
