import type { ComplexValue } from '../../../config/index.ts';
import { constantText } from '../../../config/index.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

const LEAST_BYTES = 16;

export const eventsKeyWeak: Rule = {
  id: 'GW803',
  slug: 'events-key-weak',
  severity: 'error',
  summary: 'a key for publishing that can be guessed',
  why: 'Whoever guesses it publishes what workers and listeners then believe.',
  fix: 'Take at least 16 random bytes: "gw secret" prints some.',
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
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, block } of config.uses('worker_events_publish_key')) {
      const key = block.config('worker_events')['publishKey'] as ComplexValue | undefined;
      const text = key && constantText(key);
      if (text === undefined || text === '') continue;
      const bytes = Buffer.byteLength(text);
      if (bytes >= LEAST_BYTES) continue;
      yield {
        at: node,
        message: `"worker_events_publish_key" has ${bytes} bytes, it needs at least ${LEAST_BYTES}`,
        hint: '"gw secret" prints one',
      };
    }
  },
};
