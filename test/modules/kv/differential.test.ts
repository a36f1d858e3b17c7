import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type Bytes,
  COMMAND_NAMES,
  type CommandName,
  COMMANDS,
  type Store,
} from '../../../src/modules/kv/commands.ts';
import { redis } from '../../harness/redis.ts';
import { outcomeOf, embeddedStore, redisStore } from './stores.ts';

interface Step {
  readonly name: CommandName;
  readonly args: readonly Bytes[];
}

// Few keys and fields, so that commands meet.
const key = fc.constantFrom<Bytes>('a', 'b', 'c', Buffer.from([0, 255]), 'k'.repeat(3000));
const field = fc.constantFrom<Bytes>('f', 'g', '\r\n', 'f'.repeat(3000));
const number = fc.constantFrom(
  '0',
  '1',
  '-1',
  '41',
  '-0',
  '+1',
  ' 1',
  '9223372036854775807',
  '-9223372036854775808',
);
const value = fc.oneof(
  number,
  fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
);
const seconds = fc.oneof(number, fc.constantFrom('1000', '31536000000000', '9223372036854775', '1.5', 'x'));

const step: fc.Arbitrary<Step> = fc.constantFrom(...COMMAND_NAMES).chain((name) => {
  const { takesKey, query, body } = COMMANDS[name];
  const args: fc.Arbitrary<readonly Bytes[]>[] = [
    ...(takesKey ? [key.map((one) => [one])] : []),
    ...(query === 'field' ? [field.map((one) => [one])] : []),
    ...(query === 'keys' ? [fc.array(key, { minLength: 1, maxLength: 16 })] : []),
    ...(body === 'value' ? [value.map((one) => [one])] : []),
    ...(body === 'seconds' ? [seconds.map((one) => [one])] : []),
  ];
  return fc.tuple(...args).map((lists) => ({ name, args: lists.flat() }));
});

let real: Store;
let embedded: Store;
beforeAll(async () => {
  real = redisStore((await redis()).port);
  embedded = embeddedStore();
});
afterAll(async () => {
  await real.close();
  await embedded.close();
});

async function run(store: Store, steps: readonly Step[]): Promise<unknown[]> {
  const responses: unknown[] = [];
  for (const { name, args } of steps) responses.push(await outcomeOf(store, name, ...args));
  return responses;
}

/** The clock moves between the two stores: a time to live may differ by its last second. */
function near(steps: readonly Step[], outcomes: readonly unknown[]): unknown[] {
  return outcomes.map((one, at) => {
    const { reply } = one as { reply?: string };
    return steps[at]?.name === 'ttl' && Number(reply) > 0 ? Math.round(Number(reply) / 10) : one;
  });
}

test('the embedded store gives the same outcomes as Redis for any sequence of commands', async () => {
  const { client } = await redis();
  const property = fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
    await client.flushall();
    for (const one of ['a', 'b', 'c', Buffer.from([0, 255]), 'k'.repeat(3000)])
      await outcomeOf(embedded, 'del', one);
    expect(near(steps, await run(embedded, steps))).toEqual(near(steps, await run(real, steps)));
  });
  await fc.assert(property, { numRuns: 300 });
});
