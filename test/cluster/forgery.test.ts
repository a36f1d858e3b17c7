import { expect, test } from 'vitest';
import { redis } from '../harness/redis.ts';
import { joined, payloadsOf, publishAll, startNode, startPair } from './gateways.ts';

const STREAM = 'gw:{gw:ev:bus}';

test('entries that are forged, repeated, or beyond limits are dropped and counted', async (t) => {
  const { url, client } = await redis('--databases', '6');
  const [a, b] = await startPair(t, { backend: url, fresh: true });
  await publishAll(a, ['genuine']);
  await expect.poll(() => payloadsOf(b)).toEqual(['genuine']);
  const [[, genuine]] = (await client.xrange(STREAM, '-', '+')) as [[string, string[]]];
  const changed = (name: string, value: string): string[] =>
    genuine.map((text, i) => (i % 2 === 1 && genuine[i - 1] === name ? value : text));
  let counter = 1;
  const forge = async (fields: readonly string[]): Promise<void> => {
    counter += 1;
    await client.xadd(STREAM, `${counter}-0`, ...fields);
  };
  await forge(genuine);
  for (const name of ['origin', 'incarnation', 'sequence', 'mac', 'channel', 'type', 'payload', 'time', 'v'])
    await forge(changed(name, name === 'sequence' || name === 'time' || name === 'v' ? '99' : 'forged'));
  await forge(genuine.slice(2));
  await forge(['junk', 'junk']);
  await forge([...genuine, 'payload', 'x'.repeat(100_000)]);
  await client.hset(`${STREAM}:n`, 'c', counter);
  await publishAll(a, ['genuine, too']);
  await expect.poll(() => payloadsOf(b)).toEqual(['genuine', 'genuine, too']);
  expect(await payloadsOf(a)).toEqual(['genuine', 'genuine, too']);
  const metrics = (await b.fetch('/metrics')).body;
  expect(metrics).toMatch(/^gw_cluster_duplicates_total\{cluster="main"\} 1$/m);
  expect(metrics).toMatch(/^gw_cluster_rejected_total\{cluster="main"\} 12$/m);
});

test('gateways with different secrets do not hear each other', async (t) => {
  const { url } = await redis('--databases', '7');
  const [a, b] = await startPair(t, { backend: url });
  const stranger = await startNode(t, { id: 'c', backend: url, secret: 'the secret of a stranger' });
  await joined(stranger);
  await publishAll(stranger, ['from a stranger']);
  await publishAll(a, ['from a friend']);
  await expect.poll(() => payloadsOf(b)).toEqual(['from a friend']);
});
