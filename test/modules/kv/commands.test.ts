import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Store } from '../../../src/modules/kv/commands.ts';
import { redis } from '../../harness/redis.ts';
import { refused, sequences } from './sequences.ts';
import { outcomeOf, embeddedStore, redisStore } from './stores.ts';

describe.each(['redis', 'embedded'] as const)('%s', (kind) => {
  let store: Store;
  beforeAll(async () => {
    store = kind === 'redis' ? redisStore((await redis()).port) : embeddedStore();
  });
  afterAll(() => store.close());

  test.each(sequences)('$it', async ({ steps }) => {
    for (const [expected, name, ...args] of steps) {
      const wanted = expected === refused ? refused : { reply: expected };
      expect(
        await outcomeOf(store, name, ...args),
        `${name} ${args.map(String).join(' ').slice(0, 80)}`,
      ).toEqual(wanted);
    }
  });

  test('replies come in the order in which the commands were sent', async () => {
    const responses = await Promise.all(Array.from({ length: 500 }, () => outcomeOf(store, 'incr', 'order')));
    expect(responses).toEqual(Array.from({ length: 500 }, (_, at) => ({ reply: String(at + 1) })));
  });
});
