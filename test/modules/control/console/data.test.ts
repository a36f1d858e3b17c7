import { jwks, startIssuer } from '../../auth_jwt/issuer.ts';
import { SECRET } from '../../../harness/tokens.ts';
import { expect, test } from 'vitest';
import {
  DATA_PATHS,
  type EventPage,
  type FlagPage,
  type LogPage,
  type Overview,
  type RouteMatch,
} from '../../../../src/modules/control/console/contract.ts';
import { oneGateway, startGateway, type Gateway } from '../../../harness/gateway.ts';

const load = oneGateway();

const CONSOLE = 'location /_gw/ { control_console on; }';
const FLAGS = 'shared_dict_zone zone=feature_flags:64k;';

async function read<T>(gw: Gateway, path: string, query = ''): Promise<T> {
  const { status, body } = await gw.fetch(`/_gw/${path}${query}`);
  expect([path, status]).toEqual([path, 200]);
  return JSON.parse(body) as T;
}

async function change(gw: Gateway, body: unknown) {
  const headers = { 'Content-Type': 'application/json', 'X-Gw-Console': '1' };
  return gw.fetch(`/_gw/${DATA_PATHS.flags}`, { method: 'POST', headers, body: JSON.stringify(body) });
}

const SERVERS = `
  server {
    server_name a.example *.a.example;
    location / { return 200 "a"; }
    location = /exact { return 200 "x"; }
    location ^~ /stop/ { return 200 "s"; }
    location /kv/ { location ~ ^/kv/set/(.+)$ { return 200 "r"; } }
    location ~* \\.png$ { return 200 "p"; }
    location /inner/ { internal; return 200 "i"; }
    ${CONSOLE}
  }
  server { server_name gone.example; return 301 http://a.example/; location / { return 200 "never"; } }`;

const questions = [
  { url: '/exact', expected: { server: 'a.example', location: { text: '= /exact' }, byDefault: true } },
  {
    url: 'http://a.example:PORT/stop/x.png',
    expected: { location: { text: '^~ /stop/' }, byDefault: false, regexes: [] },
  },
  {
    url: 'http://x.a.example:PORT/y.PNG?q=1',
    expected: { location: { text: '~* \\.png$' }, regexes: ['~* \\.png$'] },
  },
  { url: '/kv/set/1', expected: { location: { text: '~ ^/kv/set/(.+)$', answeredBy: 'return' } } },
  { url: '/kv/other', expected: { location: { text: '/kv/' } } },
  { url: '/a/%2e%2e/exact', expected: { uri: '/exact', location: { text: '= /exact' } } },
  { url: '/inner/x', expected: { location: { internal: true } } },
  {
    url: 'http://GONE.example:PORT/x',
    expected: { server: 'gone.example', location: { kind: 'server', answeredBy: 'return' } },
  },
  { url: '/_gw/', expected: { location: { answeredBy: 'control_console' } } },
  { url: '/%zz', expected: { refusal: 'the path is malformed: the response is 400' } },
  { url: 'http://a.example:1/', expected: { refusal: 'nothing listens on port 1' } },
];

test('the URL tester uses the compiled locations', async (t) => {
  const gw = await load(t, SERVERS);
  for (const { url, expected } of questions) {
    const asked = encodeURIComponent(url.replace('PORT', String(gw.port)));
    const told = await read<RouteMatch>(gw, DATA_PATHS.explain, `?url=${asked}`);
    expect(told, url).toMatchObject(expected);
  }
  expect(await read<RouteMatch>(gw, DATA_PATHS.explain, '?url=/kv/other')).not.toHaveProperty(
    'location.answeredBy',
  );
  for (const url of ['nothing', 'ftp://a/', 'http://a b/', '']) {
    expect((await gw.fetch(`/_gw/${DATA_PATHS.explain}?url=${encodeURIComponent(url)}`)).status).toBe(400);
  }
});

test('the overview counts requests by location, and does not count those of the console', async (t) => {
  const gw = await startGateway(t, `server { location /a { return 200 "x"; } ${CONSOLE} }`, { workers: 2 });
  for (let n = 0; n < 20; n++) await gw.fetch(n < 15 ? '/a' : '/nowhere');
  let seen = await read<Overview>(gw, DATA_PATHS.overview);
  const hit = (): number | undefined => seen.locations.find(({ location }) => location === '/a')?.lastHitMs;
  while ((seen.moments.at(-1)?.classes[1] ?? 0) < 15 || hit() === undefined)
    seen = await read<Overview>(gw, DATA_PATHS.overview);
  const byLocation = new Map(seen.locations.map((place) => [place.location, place]));
  expect(byLocation.get('/a')).toMatchObject({ requests: 15, codes: { 200: 15 } });
  expect(byLocation.get('')).toMatchObject({ requests: 5, codes: { 404: 5 } });
  expect([...byLocation.keys()]).toEqual(expect.not.arrayContaining(['/_gw/']));
  expect(seen.moments.at(-1)?.classes).toEqual([0, 15, 0, 5, 0]);
  expect(byLocation.get('/a')?.lastHitMs).toBeGreaterThan(seen.gateway.startedMs);
  expect(seen.workers.map(({ id }) => id)).toEqual(['1', '2']);
  expect(seen.configuration).toMatchObject({
    generation: 1,
    isNewest: true,
    findings: { emerg: 0, warn: 0 },
  });
});

test('every worker describes the same gateway', async (t) => {
  const gw = await startGateway(t, `server { ${CONSOLE} }`, { workers: 4 });
  const responses = Array.from({ length: 20 }, () => read<Overview>(gw, DATA_PATHS.overview));
  const seen = await Promise.all(responses);
  expect(new Set(seen.map(({ gateway }) => gateway.startedMs)).size).toBe(1);
  expect(new Set(seen.map(({ gateway }) => gateway.pid)).size).toBe(1);
  expect(seen[0]?.gateway.startedMs).toBeGreaterThan(Date.now() - 60_000);
});

test('every worker has the same history, which a reload keeps', async (t) => {
  const conf = (more = '') =>
    `server { location /ok { return 200 "x"; } location /broken { return 503; } ${more} ${CONSOLE} }`;
  const gw = await startGateway(t, conf(), { workers: 4 });
  for (const path of ['/ok', '/broken', '/broken']) await gw.fetch(path);
  const overview = () => read<Overview>(gw, DATA_PATHS.overview, '?range=1h');
  const failing = async () => (await overview()).failing;
  const broken = { location: '/broken', requests: 2, errors: 2 };
  await expect.poll(failing, { timeout: 10_000 }).toMatchObject([broken]);
  const [before] = (await overview()).moments;
  expect(await gw.reload(conf('location /new { return 200 "n"; }'))).toBe('done');
  const seen = await Promise.all(Array.from({ length: 20 }, overview));
  expect(new Set(seen.map(({ moments }) => moments[0]?.atMs))).toEqual(new Set([before?.atMs]));
  for (const each of seen) expect(each.failing).toMatchObject([broken]);
  expect(seen[0]?.failing[0]?.sinceMs).toBeLessThan(Date.now());
  expect((await gw.fetch(`/_gw/${DATA_PATHS.overview}?range=2y`)).body).toBe(
    JSON.stringify({ error: 'invalid query param: range must be one of 5m, 1h, 6h, 24h' }),
  );
});

test('the overview shows a refused reload and the configuration that still serves', async (t) => {
  const conf = (location: string) => `server { ${location} ${CONSOLE} }`;
  const gw = await load(t, conf('location /one { return 200 "1"; }'));
  expect(await gw.reload(conf('location /two { retrun 200; }'))).toBe('refused');
  expect((await read<Overview>(gw, DATA_PATHS.overview)).configuration.isNewest).toBe(false);
  expect(JSON.stringify(await read(gw, DATA_PATHS.config))).toContain('/one');
  const { entries } = await read<LogPage>(gw, DATA_PATHS.log);
  expect(entries.some(({ payload }) => payload?.includes('reload refused'))).toBe(true);
  expect(await gw.reload(conf('location /two { return 200 "2"; }'))).toBe('done');
  expect(JSON.stringify(await read(gw, DATA_PATHS.config))).toContain('/two');
  expect((await read<Overview>(gw, DATA_PATHS.overview)).configuration.isNewest).toBe(true);
});

test('the configuration comes with its findings and without its secrets', async (t) => {
  const gw = await load(
    t,
    `server { server_name twice; location /e { worker_events_api; worker_events_zone z; worker_events_channel c;
        worker_events_publish_key "the-secret-key"; } ${CONSOLE} }
     server { server_name twice; }`,
  );
  const text = await gw.fetch(`/_gw/${DATA_PATHS.config}`);
  expect(text.body).not.toContain('the-secret-key');
  expect(JSON.parse(text.body)).toMatchObject({
    files: [{ text: expect.stringContaining('worker_events_publish_key "***"') as string }],
    findings: [{ severity: 'warn', message: expect.stringContaining('conflicting server name') as string }],
  });
});

test('the log tail has the lines of the master and the requests of every worker, masked', async (t) => {
  const conf = `server { location /a { return 200 "x"; } ${CONSOLE} }`;
  const gw = await startGateway(t, conf, { workers: 2 });
  await gw.fetch('/a?key=topsecret&n=1');
  const { entries, newest } = await read<LogPage>(gw, DATA_PATHS.log);
  const lines = entries.map(({ channel, type, payload }) => `${channel} ${type} ${payload}`);
  // The default engine also logs what it drops.
  expect(lines.filter((line) => !line.startsWith('error warn'))).toEqual([
    expect.stringMatching(/^error notice \d+#0: start worker processes: 2$/) as string,
    expect.stringMatching(/^request 200 GET \d+ 1 127\.0\.0\.1 \/a\?key=\*\*\*&n=1$/) as string,
  ]);
  expect(await read<LogPage>(gw, DATA_PATHS.log, `?since=${newest}`)).toMatchObject({ entries: [] });
});

test('a request that waits for events gets them, from any ring', async (t) => {
  const ring = (name: string) =>
    `location /${name} { worker_events_api; worker_events_zone ${name}; worker_events_channel c-${name}; }`;
  const gw = await startGateway(t, `server { ${ring('one')} ${ring('two')} ${CONSOLE} }`, {
    workers: 2,
    fresh: false,
  });
  const first = await read<EventPage>(gw, DATA_PATHS.events);
  expect(first).toMatchObject({ zones: ['one', 'two'], zone: 'one', newest: 0, entries: [] });
  const waiting = read<EventPage>(gw, DATA_PATHS.events, '?zone=two&since=0&wait=1');
  const headers = { 'Content-Type': 'application/json' };
  await gw.expect('POST /one', { status: 200 }, { headers, body: '{"type":"elsewhere"}' });
  await gw.expect('POST /two', { status: 200 }, { headers, body: '{"type":"t","payload":"p"}' });
  expect(await waiting).toMatchObject({
    zone: 'two',
    newest: 1,
    entries: [{ generation: 1, channel: 'c-two', type: 't', payload: 'p' }],
  });
  expect((await gw.fetch(`/_gw/${DATA_PATHS.events}?zone=none`)).status).toBe(404);
});

test('a request that waits gets its response when the configuration retires', async (t) => {
  const conf = `server { location /e { worker_events_api; worker_events_zone z; worker_events_channel c; } ${CONSOLE} }`;
  const gw = await load(t, conf);
  const waiting = read<EventPage>(gw, DATA_PATHS.events, '?wait=1');
  expect(await gw.reload(conf)).toBe('done');
  expect(await waiting).toMatchObject({ entries: [] });
});

test('a flag that is changed in the console changes for every worker at once', async (t) => {
  const gw = await startGateway(
    t,
    `${FLAGS} feature_flag $f f; server { location /f { return 200 "$f"; } ${CONSOLE} }`,
    { workers: 4, fresh: false },
  );
  for (const enabled of [true, false, true]) {
    expect((await change(gw, { set: { name: 'f', enabled, rolloutPct: 100, ttlS: 0 } })).status).toBe(200);
    for (let n = 0; n < 10; n++) expect((await gw.fetch('/f')).body).toBe(enabled ? '1' : '0');
  }
  expect(await read<FlagPage>(gw, DATA_PATHS.flags)).toEqual({
    dictionaries: ['feature_flags'],
    flags: [{ name: 'f', enabled: true, rolloutPct: 100, ttlS: 0 }],
    variables: [{ variable: 'f', flag: 'f' }],
  });
  expect(JSON.parse((await change(gw, { unset: 'f' })).body)).toMatchObject({ flags: [] });
  expect((await gw.fetch('/f')).body).toBe('0');
});

const badChanges = [
  [{}, 'expected "set" or "unset"'],
  [null, 'expected "set" or "unset"'],
  [{ set: { enabled: true } }, 'missing required query param: name'],
  [
    { set: { name: 'x', enabled: 'perhaps' } },
    'invalid query param: enabled must be 1, 0, true, false, on or off',
  ],
  [
    { set: { name: 'x', rolloutPct: 101 } },
    'invalid query param: rollout_pct must be an integer from 0 to 100',
  ],
  [{ set: { name: 'x'.repeat(256) } }, 'invalid query param: name exceeds 255 bytes'],
] as const;
test('an invalid change is refused with a message', async (t) => {
  const gw = await load(t, `${FLAGS} server { ${CONSOLE} }`);
  for (const [body, error] of badChanges) {
    const response = await change(gw, body);
    expect([body, response.status, JSON.parse(response.body)]).toEqual([body, 400, { error }]);
  }
});

test('without a dictionary there are no flags, and everything else works', async (t) => {
  const gw = await load(t, `server { ${CONSOLE} }`);
  expect(await read<FlagPage>(gw, DATA_PATHS.flags)).toEqual({ dictionaries: [], flags: [], variables: [] });
  expect((await change(gw, { set: { name: 'x' } })).status).toBe(409);
});

test('the console is off unless the configuration says otherwise', async (t) => {
  const gw = await load(t, 'server { location /_gw/ { control_console off; return 200 "mine"; } }');
  await gw.expect('GET /_gw/', { status: 200, body: 'mine' });
});

test('the page is at the path of its location, with a slash at the end', async (t) => {
  const gw = await load(t, 'server { location /console { control_console on; } }');
  await gw.expect('GET /console', { status: 301, headers: { location: `${gw.url}/console/` } });
  expect((await gw.fetch('/console/')).headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect((await gw.fetch(`/console/${DATA_PATHS.overview}`)).status).toBe(200);
  for (const path of ['/console/x', '/console/data/', '/console/data/x', '/console/data/log/']) {
    await gw.expect(`GET ${path}`, { status: 404, json: { error: 'nothing is here' } });
  }
});

test('a location without a prefix cannot have a console', async (t) => {
  const gw = await load(t, 'server { location / { return 200 "x"; } }');
  expect(await gw.reload('server { location = /_gw { control_console on; } }')).toBe('refused');
  expect(gw.errorLog()).toContain('"control_console" needs a location with a prefix');
});

test('the overview has the counts of quotas, and none of their keys', async (t) => {
  const gw = await startGateway(
    t,
    `quota_zone $arg_k zone=daily:1m limit=2/month;
     server { location /a { quota zone=daily; echo x; } ${CONSOLE} }`,
    { workers: 2 },
  );
  const seen = async () => (await read<Overview>(gw, DATA_PATHS.overview)).quotas;
  expect(await seen()).toEqual([]);
  for (let nth = 0; nth < 3; nth += 1) await gw.fetch('/a?k=secret-key');
  await expect.poll(seen).toEqual([{ name: 'daily', passed: 2, refused: 1, failed: 0 }]);
});

test('the overview has the issuers of tokens, and how old their keys are', async (t) => {
  const issuer = await startIssuer(t, jwks({ a: SECRET }));
  const gone = 'http://127.0.0.1:1';
  const gw = await startGateway(
    t,
    `token_issuer gone { issuer ${gone}; }
     server { location /a { auth_jwt api; auth_jwt_issuer gone; auth_jwt_key_request ${issuer.url}; echo x; } ${CONSOLE} }`,
  );
  const seen = async () => (await read<Overview>(gw, DATA_PATHS.overview)).issuers;
  await expect.poll(seen).toEqual([
    { name: issuer.url, keysAgeMs: expect.any(Number) as number },
    { name: gone, keysAgeMs: null },
  ]);
});
