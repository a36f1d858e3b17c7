import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

export const eventsKeyQuery: Rule = {
  id: 'GW802',
  slug: 'events-key-query',
  severity: 'warning',
  summary: 'the key for publishing is written into an address',
  why: 'Addresses are logged by whoever passes them on, and kept by browsers; gw masks the key in its own logs only.',
  fix: 'Send it as a header: proxy_set_header X-Publish-Key ….',
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
  *check(config: CheckedConfig): Iterable<Problem> {
    if (config.uses('worker_events_publish_key').length === 0) return;
    for (const { node } of config.uses('proxy_pass', 'return', 'rewrite', 'mirror', 'auth_request')) {
      if (!node.args.some(({ value }) => /[?&]key=./.test(value))) continue;
      yield {
        at: node,
        message: `"${node.name.value}" writes the key for publishing into an address`,
        hint: 'send it as header "X-Publish-Key"',
      };
    }
  },
};
