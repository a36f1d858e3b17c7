import { expect, test } from 'vitest';
import { type Gateway, oneGateway, startGateway } from '../../harness/gateway.ts';
import { testLoadFaults } from '../../harness/load-faults.ts';
import { SECRET, sign } from '../../harness/tokens.ts';
import { periodAt, type Window } from '../../../src/modules/quota/window.ts';

testLoadFaults(import.meta.url);

const load = oneGateway();

const periods: readonly (readonly [window: Window, now: string, start: string, end: string])[] = [
  ['second', '2026-11-29T08:00:00.999Z', '2026-11-29T08:00:00Z', '2026-11-29T08:00:01Z'],
  ['minute', '2026-11-29T08:00:59Z', '2026-11-29T08:00:00Z', '2026-11-29T08:01:00Z'],
  ['hour', '2026-11-29T08:30:00Z', '2026-11-29T08:00:00Z', '2026-11-29T09:00:00Z'],
  ['day', '2026-11-29T23:59:59Z', '2026-11-29T00:00:00Z', '2026-11-30T00:00:00Z'],
  ['week', '2026-11-29T08:00:00Z', '2026-11-23T00:00:00Z', '2026-11-30T00:00:00Z'],
  ['week', '2026-11-30T00:00:00Z', '2026-11-30T00:00:00Z', '2026-12-07T00:00:00Z'],
  ['week', '1970-01-01T00:00:00Z', '1969-12-29T00:00:00Z', '1970-01-05T00:00:00Z'],
  ['month', '2026-12-31T23:59:59Z', '2026-12-01T00:00:00Z', '2027-01-01T00:00:00Z'],
  ['month', '2028-02-29T12:00:00Z', '2028-02-01T00:00:00Z', '2028-03-01T00:00:00Z'],
];

test.each(periods)('the %s of %s is the one from %s to %s', (...[window, now, start, end]) => {
  const { startMs, endMs } = periodAt(window, Date.parse(now));
  expect([startMs, endMs]).toEqual([Date.parse(start), Date.parse(end)]);
});

/*
 * Counts outlive a reload, so each test has keys of its own.
 */

/** A zone by the argument `k`, with a location that counts in it. */
const conf = (quota: string, zone = 'limit=3/month'): string =>
  `quota_zone $arg_k zone=q:1m ${zone}; server { location / { ${quota} echo -n ok; } }`;

/** The statuses of requests one after another. */
async function statuses(gw: Gateway, path: string, count: number): Promise<number[]> {
  const all: number[] = [];
  for (let n = 0; n < count; n += 1) all.push((await gw.fetch(path)).status);
  return all;
}

test('a quota serves so many requests of each key, and tells what is left', async (t) => {
  const gw = await load(t, conf('quota zone=q;'));
  for (const left of [2, 1, 0]) {
    const { headers } = await gw.expect('GET /?k=a', { status: 200, body: 'ok' });
    expect(headers.get('ratelimit-policy')).toMatch(/^"q";q=3;w=(2419200|2505600|2592000|2678400)$/);
    expect(headers.get('ratelimit')).toMatch(new RegExp(`^"q";r=${left};t=\\d+$`));
    expect(headers.get('retry-after')).toBeNull();
  }
  const { headers } = await gw.expect('GET /?k=a', { status: 429 });
  expect(headers.get('ratelimit')).toMatch(/^"q";r=0;t=(\d+)$/);
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  // The key is a text of the client, which may be a secret.
  await gw.waitForLog(/\[error\] .*quota exceeded: 3 in a month, by zone "q", client: 127/);
  await gw.expect('GET /?k=b', { status: 200 });
});

test('the log names whose quota is exceeded by an id that opens nothing', async (t) => {
  const long = `a"b${'c'.repeat(80)}`;
  const gw = await load(
    t,
    `quota_zone \${jwt_claim_sub} zone=sub:1m limit=1/month;
     server { location / { auth_jwt shop; auth_jwt_key_file secret; quota zone=sub; echo -n ok; } }`,
    { secret: JSON.stringify({ keys: [{ kty: 'oct', k: Buffer.from(SECRET).toString('base64url') }] }) },
  );
  const init = { headers: { authorization: `Bearer ${sign({ sub: long })}` } };
  expect((await gw.fetch('/', init)).status).toBe(200);
  expect((await gw.fetch('/', init)).status).toBe(429);
  await gw.waitForLog(new RegExp(String.raw`by zone "sub", key "a\\x22b${'c'.repeat(61)}", client: 127`));
});

test('requests with an empty key are not counted', async (t) => {
  const gw = await load(t, conf('quota zone=q;'));
  expect(await statuses(gw, '/', 5)).toEqual([200, 200, 200, 200, 200]);
  expect((await gw.fetch('/')).headers.get('ratelimit')).toBeNull();
});

const costs = [
  { it: 'as its cost', quota: 'quota zone=q cost=$arg_c;', path: '/?k=c1&c=2', expected: [200, 429, 429] },
  { it: 'as nothing', quota: 'quota zone=q cost=0;', path: '/?k=c2', expected: [200, 200, 200, 200, 200] },
  {
    it: 'as 1 without a number',
    quota: 'quota zone=q cost=$arg_c;',
    path: '/?k=c3&c=x',
    expected: [200, 200, 200, 429],
    says: /\[warn\] .*the cost "x" for quota "q" is no number up to 1000000: 1/,
  },
  {
    it: 'as 1 beyond the largest cost',
    quota: 'quota zone=q cost=$arg_c;',
    path: '/?k=c4&c=1000001',
    expected: [200, 200, 200, 429],
    says: /\[warn\]/,
  },
];

for (const { it, quota, path, expected, says } of costs)
  test(`a request counts ${it}`, async (t) => {
    const gw = await load(t, conf(quota));
    expect(await statuses(gw, path, expected.length)).toEqual(expected);
    if (says) await gw.waitForLog(says);
  });

test('a request that is refused costs nothing, in no quota', async (t) => {
  const gw = await load(
    t,
    `quota_zone $arg_k zone=day:1m limit=3/month; quota_zone $arg_k zone=all:1m limit=100/month;
     server { location / { quota zone=all; quota zone=day; echo -n ok; }
       location /all { quota zone=all; echo -n ok; } location /costly { quota zone=day cost=2; echo -n ok; } }`,
  );
  expect(await statuses(gw, '/?k=a', 6)).toEqual([200, 200, 200, 429, 429, 429]);
  const { headers } = await gw.fetch('/all?k=a');
  expect(headers.get('ratelimit')).toMatch(/^"all";r=96;/);
  expect(await statuses(gw, '/costly?k=b', 3)).toEqual([200, 429, 429]);
  const both = await gw.fetch('/?k=c');
  expect(both.headers.get('ratelimit')).toMatch(/^"all";r=99;t=\d+, "day";r=2;t=\d+$/);
});

test('a dry run only logs, headers can be left out, and the status can be another', async (t) => {
  const gw = await load(
    t,
    `quota_zone $arg_k zone=q:1m limit=1/month; quota zone=q;
     server { location / { quota_dry_run on; echo -n ok; } location /plain { quota_headers off; quota_status 503; echo -n ok; } }`,
  );
  expect(await statuses(gw, '/?k=a', 2)).toEqual([200, 200]);
  await gw.waitForLog(/\[error\] .*quota exceeded, dry run: 1 in a month, by zone "q"/);
  const { status, headers } = await gw.fetch('/plain?k=a');
  expect([status, headers.get('ratelimit')]).toEqual([503, null]);
});

test('what access refuses is not counted, and a redirected request once', async (t) => {
  const gw = await load(
    t,
    `quota_zone $arg_k zone=q:1m limit=3/month; quota zone=q;
     server { location /denied { deny all; echo no; } location /first { rewrite ^ /second; } location /second { echo -n ok; }
       location /inner { error_page 404 = /second; proxy_pass http://127.0.0.1:1/; error_page 502 = /second; } }`,
  );
  expect(await statuses(gw, '/denied?k=i', 5)).toEqual([403, 403, 403, 403, 403]);
  expect(await statuses(gw, '/inner?k=i', 4)).toEqual([200, 200, 200, 429]);
  expect(await statuses(gw, '/first?k=f', 4)).toEqual([200, 200, 200, 429]);
});

test('all workers count in one quota, also across a reload', async (t) => {
  const text = conf('quota zone=q;', 'limit=50/month');
  const gw = await startGateway(t, text, { workers: 2 });
  const first = await Promise.all(Array.from({ length: 40 }, async () => (await gw.fetch('/?k=a')).status));
  await gw.reload(gw.confOf(text));
  const then = await Promise.all(Array.from({ length: 40 }, async () => (await gw.fetch('/?k=a')).status));
  expect([...first, ...then].filter((status) => status === 200)).toHaveLength(50);
});

test('a quota is whole again when its window ends', async (t) => {
  const gw = await load(t, conf('quota zone=q;', 'limit=1/second'));
  await expect.poll(() => statuses(gw, '/?k=a', 2)).toEqual([200, 429]);
  await expect.poll(async () => (await gw.fetch('/?k=a')).status).toBe(200);
});

test('a quota counts what it lets pass and what it refuses, and not what another one refuses', async (t) => {
  const gw = await startGateway(
    t,
    `quota_zone $arg_k zone=day:1m limit=1/month; quota_zone $arg_k zone=all:1m limit=9/month;
     server { location / { quota zone=all; quota zone=day; echo -n ok; } location = /metrics { control_api metrics; }
       location /dry { quota zone=day; quota_dry_run on; echo -n ok; } }`,
  );
  await statuses(gw, '/?k=a', 3);
  await statuses(gw, '/dry?k=a', 4);
  const { body } = await gw.fetch('/metrics');
  const rows = [...body.matchAll(/^gw_quota_total\{zone="(\w+)",result="(\w+)"\} (\d+)$/gm)];
  expect(rows.map(([, zone, result, count]) => `${zone} ${result} ${count}`).sort()).toEqual([
    'all passed 1',
    'day dry_run 4',
    'day passed 1',
    'day refused 2',
  ]);
});
