import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type Gateway, oneGateway, startGateway } from '../../harness/gateway.ts';
import { callOn, openHttp2 } from '../../harness/http2-client.ts';

const load = oneGateway({ workers: 2 });

/** Repeats `ask` if it took longer than a second, so that all its requests are in one second of the limit. */
async function inOneSecond<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    const startedMs = performance.now();
    const result = await ask();
    if (performance.now() - startedMs < 1000) return result;
    await sleep(1000);
  }
}

/** The statuses of requests at once, counted. */
async function statuses(gw: Gateway, paths: readonly string[]): Promise<Readonly<Record<number, number>>> {
  const all = await inOneSecond(() => Promise.all(paths.map(async (path) => (await gw.fetch(path)).status)));
  return countsOf(all);
}

function countsOf(statuses: readonly number[]): Readonly<Record<number, number>> {
  const counted: Record<number, number> = {};
  for (const status of statuses) counted[status] = (counted[status] ?? 0) + 1;
  return counted;
}

const times = (number: number, path = '/'): string[] => Array<string>(number).fill(path);
const KEY = 'ratelimit_key $arg_k;';
const OK = 'error_page 404 = @in;';
const IN = 'location @in { return 200 in; }';

const cases = [
  { it: 'admits the rate', conf: 'ratelimit_rate 5r/s;', paths: times(8), counts: { 200: 5, 429: 3 } },
  {
    it: 'admits a rate without a unit',
    conf: 'ratelimit_rate 5;',
    paths: times(8),
    counts: { 200: 5, 429: 3 },
  },
  {
    it: 'admits the burst beside the rate',
    conf: 'ratelimit_rate 2r/s; ratelimit_burst 4;',
    paths: times(9),
    counts: { 200: 6, 429: 3 },
  },
  {
    it: 'counts by a key',
    conf: `ratelimit_rate 2r/s; ${KEY}`,
    paths: [...times(3, '/?k=a'), ...times(3, '/?k=b')],
    counts: { 200: 4, 429: 2 },
  },
  {
    it: 'counts by a long key as a whole',
    conf: `ratelimit_rate 1r/s; ${KEY}`,
    paths: [...times(2, `/?k=${'x'.repeat(500)}a`), ...times(2, `/?k=${'x'.repeat(500)}b`)],
    counts: { 200: 2, 429: 2 },
  },
  {
    it: 'counts by the address if the key is empty',
    conf: `ratelimit_rate 2r/s; ${KEY}`,
    paths: times(3),
    counts: { 200: 2, 429: 1 },
  },
  {
    it: 'does not take an address in a key for that of a client',
    conf: `ratelimit_rate 1r/s; ${KEY}`,
    paths: ['/', '/?k=127.0.0.1'],
    counts: { 200: 2 },
  },
  {
    it: 'counts a request as several',
    conf: 'ratelimit_rate 6r/s; ratelimit_cost $arg_c;',
    paths: times(4, '/?c=3'),
    counts: { 200: 2, 429: 2 },
  },
  {
    it: 'counts a request as one where its cost is no number',
    conf: 'ratelimit_rate 2r/s; ratelimit_cost $arg_c;',
    paths: [...times(2, '/?c=-5'), ...times(2, '/?c=x')],
    counts: { 200: 2, 429: 2 },
  },
  {
    it: 'admits what costs nothing',
    conf: 'ratelimit_rate 1r/s; ratelimit_cost $arg_c;',
    paths: times(4, '/?c=0'),
    counts: { 200: 4 },
  },
  {
    it: 'never admits what costs more than the limit',
    conf: 'ratelimit_rate 5r/s; ratelimit_cost $arg_c;',
    paths: times(2, '/?c=6'),
    counts: { 429: 2 },
  },
  ...['1', 'true', 'YES', 'on'].map((value) => ({
    it: `skips for ${value}`,
    conf: 'ratelimit_rate 1r/s; ratelimit_skip $arg_s;',
    paths: times(4, `/?s=${value}`),
    counts: { 200: 4 },
  })),
  {
    it: 'skips for nothing else',
    conf: 'ratelimit_rate 1r/s; ratelimit_skip $arg_s;',
    paths: [...times(1, '/?s=0'), ...times(1, '/?s=11'), ...times(1, '/?s=')],
    counts: { 200: 1, 429: 2 },
  },
  {
    it: 'counts no request that the access phase refuses, and every request that one check admits',
    conf: 'ratelimit_rate 2r/s; satisfy any; allow 127.0.0.1; auth_request /auth;',
    paths: times(3),
    counts: { 200: 2, 429: 1 },
  },
];
for (const [index, { it, conf, paths, counts }] of cases.entries()) {
  test(`ratelimit ${it}`, async (t) => {
    // A separate location, since counts are kept across reloads.
    const gw = await load(
      t,
      `${OK} server { server_name n${index}; ${IN} location = /auth { return 401; } location / { ${conf} } }`,
    );
    expect(await statuses(gw, paths)).toEqual(counts);
  });
}

test('a new second begins with no requests, and refused requests are not counted', async (t) => {
  const gw = await load(t, `${OK} server { ${IN} location /anew { ratelimit_rate 3r/s; } }`);
  expect(await statuses(gw, times(9, '/anew'))).toEqual({ 200: 3, 429: 6 });
  await expect.poll(async () => (await gw.fetch('/anew')).status, { timeout: 5000 }).toBe(200);
});

test('locations count for themselves, and nested ones with the location whose rate they have', async (t) => {
  const gw = await load(
    t,
    `${OK} server { ${IN} location /a { ratelimit_rate 2r/s; location /a/b {} location /a/c { ratelimit_rate 2r/s; } } }`,
  );
  expect(await statuses(gw, [...times(2, '/a'), ...times(2, '/a/b')])).toEqual({ 200: 2, 429: 2 });
  expect(await statuses(gw, times(3, '/a/c'))).toEqual({ 200: 2, 429: 1 });
});

test('a request counts once, also if it is redirected within its location, and not for its subrequests', async (t) => {
  const gw = await load(
    t,
    (dir) =>
      `server { root ${dir}/www; location / { ratelimit_rate 2r/s; ssi on; try_files $uri/index.html $uri =404; } }`,
    { 'www/d/index.html': '<!--# include virtual="/p.html" -->!', 'www/p.html': 'p' },
  );
  const found = await inOneSecond(async () => [
    (await gw.fetch('/d')).body,
    ...(await Promise.all([gw.fetch('/d'), gw.fetch('/d')]))
      .map(({ status }) => status)
      .toSorted((a, b) => a - b),
  ]);
  expect(found).toEqual(['p!', 200, 429]);
});

test('variables show the decision, and an error page is sent', async (t) => {
  const shown = '"$ratelimit_result $ratelimit_source $ratelimit_key $ratelimit_cost"';
  const gw = await load(
    t,
    `error_page 404 = @in; error_page 429 = @in;
     server { location @in { return 200 ${shown}; }
       location /v { ratelimit_rate 3r/s; ${KEY} ratelimit_cost $arg_c; } location /none { } }`,
  );
  const bodies = await inOneSecond(async () => {
    const found: string[] = [];
    for (const path of ['/v?k=a&c=2', '/v?k=a&c=2', '/v']) found.push((await gw.fetch(path)).body);
    return found;
  });
  expect(bodies).toEqual(['allow variable a 2', 'deny variable a 2', 'allow ip 127.0.0.1 1']);
  await gw.expect('GET /none', { body: '   ' });
  await gw.waitForLog(/\[error\] .*limiting requests by "ratelimit_rate": more than 3 in a second, client: /);
});

test('all workers and HTTP/2 share a count', async (t) => {
  const conf = `${OK} server { server_name many; http2 on; ${IN} location / { ratelimit_rate 20r/s; } }`;
  const gw = await startGateway(t, conf, { workers: 4 });
  const session = openHttp2(gw.port);
  const found = await inOneSecond(() =>
    Promise.all(
      Array.from({ length: 40 }, async (_, n) =>
        n % 2 === 0 ? (await gw.fetch('/')).status : (await callOn(session, '/')).status,
      ),
    ),
  );
  session.close();
  expect(countsOf(found)).toEqual({ 200: 20, 429: 20 });
});
