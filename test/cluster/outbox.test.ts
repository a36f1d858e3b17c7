import { expect, test } from 'vitest';
import { redis } from '../harness/redis.ts';
import { startLightNode } from './keys.ts';
import { freshNamespace } from './stores.ts';
import { Talk } from './talk.ts';

test('a flood that fills the buffer while the store hangs drops nothing of another stream', async (t) => {
  const store = await redis();
  const namespace = freshNamespace();
  const start = (id: string) => {
    const one = startLightNode(id, { url: store.url, namespace });
    const [flood, quiet] = [new Talk(id, 'ev:flood'), new Talk(id, 'pu')];
    one.node.add(quiet);
    one.node.add(flood);
    return { ...one, flood, quiet };
  };
  const [a, b] = [start('a'), start('b')];
  await expect.poll(() => [a, b].map(({ node }) => node.status.state)).toEqual(['up', 'up']);
  t.onTestFinished(() => store.signal('SIGCONT'));
  store.signal('SIGSTOP');
  a.quiet.say('first');
  const words = Array.from({ length: 3_000 }, (_, nth) => `${nth} ${'x'.repeat(1_000)}`);
  for (const word of words) a.flood.say(word);
  const after = Array.from({ length: 20 }, (_, nth) => `after ${nth}`);
  for (const word of after) a.quiet.say(word);
  await expect.poll(() => a.node.status.state).toBe('down');
  expect(a.node.status.buffer_bytes).toBeLessThanOrEqual(1_000_000);
  store.signal('SIGCONT');
  await expect.poll(() => b.flood.heard.at(-1)).toBe(words.at(-1));
  await expect.poll(() => b.quiet.heard).toEqual(['first', ...after]);
  expect(b.flood.heard).toEqual(words.slice(-b.flood.heard.length));
  expect([a.quiet.lost, a.flood.lost]).toEqual([0, words.length - b.flood.heard.length]);
  expect(a.counts['dropped']).toBe(a.flood.lost);
});
