import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../harness/gateway.ts';

const conf = (zone = 'zone=q:1m limit=3/month'): string =>
  `quota_zone $arg_k ${zone} state=q.json; server { location / { quota zone=q; echo -n ok; } }`;

const statusOf = async (gw: Gateway, key: string): Promise<number> => (await gw.fetch(`/?k=${key}`)).status;
const stateOf = (gw: Gateway): unknown => JSON.parse(readFileSync(join(gw.dir, 'q.json'), 'utf8'));

test('counts are in the file when the gateway has ended, and a start goes on with them', async (t) => {
  const first = await startGateway(t, conf(), { workers: 2, fresh: true });
  for (const key of ['a', 'a', 'b']) await statusOf(first, key);
  await first.stop();
  expect(stateOf(first)).toMatchObject({ a: [2, expect.any(Number)], b: [1, expect.any(Number)] });

  const text = readFileSync(join(first.dir, 'q.json'), 'utf8');
  const then = await startGateway(t, conf(), { workers: 2, fresh: true, files: { 'q.json': text } });
  expect([await statusOf(then, 'a'), await statusOf(then, 'a')]).toEqual([200, 429]);
  expect((await then.fetch('/?k=b')).headers.get('ratelimit')).toMatch(/^"q";r=1;/);
});

test('a start leaves out windows that are over, and what is malformed', async (t) => {
  const now = Date.now();
  const kept = { over: [3, now - 40 * 86_400_000], now: [3, now], wrong: ['3', now] };
  const files = { 'q.json': JSON.stringify(kept) };
  const gw = await startGateway(t, conf(), { fresh: true, files });
  expect(await statusOf(gw, 'now')).toBe(429);
  expect(await statusOf(gw, 'over')).toBe(200);
  await gw.waitForLog(
    /\[error\] .*the state of quota zone "q" .*1 of its entries are malformed; it is kept as/,
  );
  expect(readdirSync(gw.dir).filter((name) => name.startsWith('q.json.broken-'))).toHaveLength(1);
});

test('a full zone forgets keys of windows that are over without a word, and others with one line', async (t) => {
  const long = 'x'.repeat(2_000);
  const gw = await startGateway(t, conf('zone=q:32k limit=1000/month'), { fresh: true });
  for (let nth = 0; nth < 40; nth += 1) expect(await statusOf(gw, `${nth}${long}`)).toBe(200);
  await gw.waitForLog(/\[warn\] .*quota zone "q" is full: keys are forgotten/);
  expect(gw.errorLog().match(/is full/g)).toHaveLength(1);

  const short = await startGateway(
    t,
    'quota_zone $arg_k zone=s:32k limit=1000/second; server { location / { quota zone=s; echo -n ok; } }',
    { fresh: true },
  );
  // A window has room for a few keys only, and each later one takes the room of a key whose window is over.
  for (let nth = 0; nth < 40; nth += 1) {
    await statusOf(short, `${nth}${long}`);
    await new Promise((resolve) => setTimeout(resolve, 150));
  }
  expect(short.errorLog()).not.toContain('is full');
});
