import { writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startDnsServer } from '../../harness/dns-server.ts';
import { type Gateway, oneGateway } from '../../harness/gateway.ts';
import { startPeer } from '../../harness/peer.ts';

const load = oneGateway({ workers: 2 });

/** Each test has another server in the block, so that members of earlier tests are not used. */
let used = 0;

const confOf = (directives: string, block = ''): string =>
  `upstream app { server 10.0.0.${++used}:80; dynamic_upstreams_managed; ${block} }
   server {
     location = /app {
       dynamic_upstreams_api; dynamic_upstreams_target app; dynamic_upstreams_refresh 50; ${directives}
       dynamic_upstreams_worker_events_zone bus; dynamic_upstreams_worker_events_channel app;
     }
     location = /events { worker_events_api; worker_events_zone bus; worker_events_channel app; }
     location = /metrics { control_api metrics; }
   }`;

interface GroupState {
  readonly source: string;
  readonly writable: boolean;
  readonly generation: number;
  readonly last_error_code: number;
  readonly peers: readonly {
    readonly address: string;
    readonly weight: number;
    readonly backup: boolean;
    readonly state: string;
  }[];
}

const show = async (gw: Gateway): Promise<GroupState> =>
  JSON.parse((await gw.fetch('/app')).body) as GroupState;

const addresses = async (gw: Gateway): Promise<string> =>
  (await show(gw)).peers.map(({ address }) => address).join(' ');

const SOON = { timeout: 10_000, interval: 20 };

async function eventTypes(gw: Gateway, since: number): Promise<readonly string[]> {
  const { body } = await gw.fetch(`/events?since=${since}`);
  return (JSON.parse(body) as { events: { type: string }[] }).events.map(({ type }) => type);
}

/** The payloads of `refresh_failed` since a generation. */
async function failuresOf(gw: Gateway, since: number): Promise<readonly unknown[]> {
  const { body } = await gw.fetch(`/events?since=${since}`);
  const { events } = JSON.parse(body) as { events: { type: string; payload: string }[] };
  return events
    .filter(({ type }) => type === 'refresh_failed')
    .map(({ payload }) => JSON.parse(payload) as unknown);
}

const failed = (source: string, code: number): object => ({ target: 'app', source, error_code: code });

async function newest(gw: Gateway): Promise<number> {
  const { body } = await gw.fetch('/events');
  return (JSON.parse(body) as { newest_generation: number }).newest_generation;
}

const listOf = (...given: readonly (string | object)[]): string =>
  JSON.stringify({
    peers: given.map((peer) => (typeof peer === 'string' ? { address: peer } : peer)),
  });

/** A source over HTTP whose response a test can change. */
type Respond = (request: IncomingMessage, response: ServerResponse) => void;

async function startSource(t: Parameters<typeof startPeer>[0], first: Respond) {
  const source = { respond: first };
  const peer = await startPeer(t, 'source', (request, response) => source.respond(request, response));
  return { source, url: `http://127.0.0.1:${peer.port}`, peer };
}

const text =
  (body: string, status = 200): Respond =>
  (_, response) => {
    response.statusCode = status;
    response.end(body);
  };

test('the peers of a file are known before the first request, and follow the file', async (t) => {
  const gw = await load(t, confOf('dynamic_upstreams_source_file peers.json;'), {
    'peers.json': listOf('10.1.0.1:80', { address: '10.1.0.2:80', weight: 3 }),
  });
  expect(await show(gw)).toMatchObject({
    source: 'file',
    writable: false,
    peers: [{ weight: 1 }, { weight: 3 }],
  });
  writeFileSync(join(gw.dir, 'peers.json'), listOf('10.1.0.3:80'));
  await expect.poll(() => addresses(gw), SOON).toBe('10.1.0.3:80');
});

test('a source that gives the same peers makes no new generation and no event', async (t) => {
  const { url, peer } = await startSource(t, text(listOf('10.1.0.1:80')));
  const gw = await load(t, confOf(`dynamic_upstreams_source http; dynamic_upstreams_http ${url}/peers;`));
  const { generation } = await show(gw);
  const since = await newest(gw);
  const asked = peer.requests.length;
  await expect.poll(() => peer.requests.length, SOON).toBeGreaterThan(asked + 5);
  expect((await show(gw)).generation).toBe(generation);
  expect(await eventTypes(gw, since)).toEqual([]);
});

test('one worker asks for all', async (t) => {
  const { url, peer } = await startSource(t, text(listOf('10.1.0.1:80')));
  const gw = await load(t, confOf(`dynamic_upstreams_source http; dynamic_upstreams_http ${url}/peers;`));
  await expect.poll(() => peer.requests.length, SOON).toBeGreaterThan(10);
  expect(peer.open()).toBeLessThanOrEqual(1);
  expect(await addresses(gw)).toBe('10.1.0.1:80');
});

const failures: readonly { readonly it: string; readonly respond: Respond; readonly code: number }[] = [
  { it: 'garbage', respond: text('{"peers":'), code: 4001 },
  { it: 'another shape', respond: text('[]'), code: 4002 },
  { it: 'a peer with a fault', respond: text(listOf({ address: 'nowhere' })), code: 4003 },
  { it: 'status 500', respond: text(listOf('10.9.9.9:80'), 500), code: 5002 },
  { it: 'a redirect', respond: text('', 302), code: 5002 },
  { it: 'an empty list', respond: text(listOf()), code: 4002 },
  { it: 'a body of 2 MiB', respond: text(' '.repeat(2 * 1024 * 1024)), code: 5002 },
  { it: 'a connection that breaks off', respond: (_, response) => void response.destroy(), code: 5002 },
];

for (const { it, respond, code } of failures) {
  test(`${it} keeps the last good set and is logged once`, async (t) => {
    const { source, url, peer } = await startSource(t, text(listOf('10.1.0.1:80')));
    const gw = await load(t, confOf(`dynamic_upstreams_source http; dynamic_upstreams_http ${url};`));
    const since = await newest(gw);
    source.respond = respond;
    await expect.poll(async () => (await show(gw)).last_error_code, SOON).toBe(code);
    const asked = peer.requests.length;
    await expect.poll(() => peer.requests.length, SOON).toBeGreaterThan(asked + 3);
    expect(await addresses(gw)).toBe('10.1.0.1:80');
    expect(await eventTypes(gw, since)).toEqual(['refresh_failed']);
    source.respond = text(listOf('10.1.0.2:80'));
    await expect.poll(() => addresses(gw), SOON).toBe('10.1.0.2:80');
    const { body } = await gw.fetch('/metrics');
    expect(body).toMatch(/gw_upstream_refresh_failures_total\{upstream="app",source="http"\} [1-9]/);
  });
}

test('a source that does not respond is given up after five seconds', { timeout: 30_000 }, async (t) => {
  const { source, url } = await startSource(t, text(listOf('10.1.0.1:80')));
  const gw = await load(t, confOf(`dynamic_upstreams_source http; dynamic_upstreams_http ${url};`));
  source.respond = () => undefined;
  await gw.waitForLog(/source "http" of upstream "app": it took too long/);
  expect(await addresses(gw)).toBe('10.1.0.1:80');
});

test('with dynamic_upstreams_empty accept, an empty list empties the group', async (t) => {
  const { source, url } = await startSource(t, text(listOf('10.1.0.1:80')));
  const directives = `dynamic_upstreams_source http; dynamic_upstreams_http ${url}; dynamic_upstreams_empty accept;`;
  const gw = await load(t, confOf(directives));
  source.respond = text(listOf());
  await expect.poll(() => addresses(gw), SOON).toBe('');
});

test('a source over HTTP gets its headers and the last ETag', async (t) => {
  const seen: IncomingMessage['headers'][] = [];
  const { url } = await startSource(t, ({ headers }, response) => {
    seen.push(headers);
    response.statusCode = headers['if-none-match'] === '"v1"' ? 304 : 200;
    response.setHeader('ETag', '"v1"');
    response.end(response.statusCode === 200 ? listOf('10.1.0.1:80') : '');
  });
  const header = 'dynamic_upstreams_http_header Authorization "Bearer t";';
  const gw = await load(t, confOf(`dynamic_upstreams_source http; dynamic_upstreams_http ${url}; ${header}`));
  await expect.poll(() => seen.length, SOON).toBeGreaterThan(2);
  expect([seen[0]?.authorization, seen[0]?.['if-none-match']]).toEqual(['Bearer t', undefined]);
  expect(seen.at(-1)).toMatchObject({ authorization: 'Bearer t', 'if-none-match': '"v1"' });
  expect(await addresses(gw)).toBe('10.1.0.1:80');
});

test('the address of Consul may be written as host:port', async (t) => {
  const instances = [{ Service: { Address: '10.1.0.1', Port: 80 } }];
  const { url } = await startSource(t, text(JSON.stringify(instances)));
  const gw = await load(
    t,
    confOf(`dynamic_upstreams_source consul; dynamic_upstreams_consul_service app;
      dynamic_upstreams_consul_address ${new URL(url).host};`),
  );
  expect(await addresses(gw)).toBe('10.1.0.1:80');
});

test('the passing instances of a service in Consul are the peers', async (t) => {
  const asked: (string | undefined)[] = [];
  const instances = [
    { Node: { Address: '10.1.0.9' }, Service: { Address: '10.1.0.1', Port: 80, Weights: { Passing: 4 } } },
    { Node: { Address: '10.1.0.2' }, Service: { Address: '', Port: 81 } },
    { Node: { Address: '10.1.0.9' }, Service: { Address: '2001:db8::1', Port: 82 } },
  ];
  const { source, url } = await startSource(t, ({ url: target, headers }, response) => {
    asked.push(target, String(headers['x-consul-token']));
    response.end(JSON.stringify(instances));
  });
  const gw = await load(
    t,
    confOf(`dynamic_upstreams_source consul; dynamic_upstreams_consul_address ${url};
      dynamic_upstreams_consul_service "web app"; dynamic_upstreams_consul_tag v1;
      dynamic_upstreams_consul_token secret; dynamic_upstreams_consul_dc dc1;`),
  );
  expect((await show(gw)).peers).toMatchObject([
    { address: '10.1.0.1:80', weight: 4 },
    { address: '10.1.0.2:81', weight: 1 },
    { address: '[2001:db8::1]:82', weight: 1 },
  ]);
  expect(asked.slice(0, 2)).toEqual(['/v1/health/service/web%20app?passing=1&tag=v1&dc=dc1', 'secret']);
  source.respond = text('[]');
  await expect.poll(() => addresses(gw), SOON).toBe('');
});

test('the addresses of a name are the peers, and a name that is gone has none', async (t) => {
  const dns = await startDnsServer(t, { 'app.test': { addresses: ['10.1.0.2', '10.1.0.1'], ttl: 1 } });
  const gw = await load(
    t,
    confOf(
      'dynamic_upstreams_source dns; dynamic_upstreams_dns app.test:8080;',
      `resolver 127.0.0.1:${dns.port} ipv6=off;`,
    ),
  );
  expect(await addresses(gw)).toBe('10.1.0.1:8080 10.1.0.2:8080');
  dns.names.set('app.test', { fault: 2 });
  await expect.poll(async () => (await show(gw)).last_error_code, SOON).toBe(5002);
  expect(await addresses(gw)).toBe('10.1.0.1:8080 10.1.0.2:8080');
  dns.names.delete('app.test');
  await expect.poll(() => addresses(gw), SOON).toBe('');
});

test('the records of a service are the peers with their ports and weights, those of a lower priority backups', async (t) => {
  const dns = await startDnsServer(t, {
    '_http._tcp.app.test': {
      services: [
        { priority: 1, weight: 5, port: 8001, target: 'a.test' },
        { priority: 2, weight: 1, port: 8002, target: 'b.test' },
      ],
    },
    'a.test': { addresses: ['10.1.0.1'] },
    'b.test': { addresses: ['10.1.0.2'] },
  });
  const gw = await load(
    t,
    confOf(
      'dynamic_upstreams_source dns; dynamic_upstreams_dns app.test service=http;',
      `resolver 127.0.0.1:${dns.port} ipv6=off;`,
    ),
  );
  expect((await show(gw)).peers).toMatchObject([
    { address: '10.1.0.1:8001', weight: 5, backup: false },
    { address: '10.1.0.2:8002', weight: 1, backup: true },
  ]);
});

const faultyFiles = [
  { it: 'no JSON', text: '{"peers":', code: 4001 },
  { it: 'no list', text: '{}', code: 4002 },
  { it: 'a name instead of an address', text: listOf('localhost:80'), code: 4003 },
  { it: 'a peer twice', text: listOf('10.1.0.2:80', '10.1.0.2:80'), code: 4003 },
];

for (const { it, text: faulty, code } of faultyFiles) {
  test(`a source file with ${it} is reported with its code, at the start or later`, async (t) => {
    const block = confOf('dynamic_upstreams_source_file peers.json;');
    const gw = await load(t, block, { 'peers.json': faulty });
    expect(await failuresOf(gw, 0)).toContainEqual(failed('file', code));
    writeFileSync(join(gw.dir, 'peers.json'), listOf('10.1.0.1:80'));
    await expect.poll(() => addresses(gw), SOON).toBe('10.1.0.1:80');
    expect(await show(gw)).toMatchObject({ last_error_code: 0 });
    const since = await newest(gw);
    writeFileSync(join(gw.dir, 'peers.json'), faulty);
    await expect.poll(() => failuresOf(gw, since), SOON).toEqual([failed('file', code)]);
    expect(await show(gw)).toMatchObject({ last_error_code: code, peers: [{ address: '10.1.0.1:80' }] });
  });
}

test('peers of a source are not changed by the API, but they can be drained', async (t) => {
  const gw = await load(t, confOf('dynamic_upstreams_source_file peers.json;'), {
    'peers.json': listOf('10.1.0.1:80', '10.1.0.2:80'),
  });
  const headers = { 'Content-Type': 'application/json' };
  await gw.expect('PUT /app', { status: 405 }, { headers, body: listOf('10.1.0.1:80') });
  const body = JSON.stringify({ drain: '10.1.0.1:80' });
  await gw.expect('PATCH /app', { status: 200 }, { headers, body });
  expect((await show(gw)).peers.map(({ state }) => state)).toEqual(['draining', 'up']);
});

test('after a reload, the former source is not asked any more, even while a request of its configuration continues', async (t) => {
  const [first, second] = [
    await startSource(t, text(listOf('10.1.0.1:80'))),
    await startSource(t, text(listOf('10.1.0.2:80'))),
  ];
  const slow = await startSource(t, () => undefined);
  const more = `location /slow { proxy_pass ${slow.url}; }`;
  const over = ({ url }: { url: string }): string =>
    `dynamic_upstreams_source http; dynamic_upstreams_http ${url}/peers;`;
  const block = confOf(over(first)).replace('location = /app', `${more} location = /app`);
  const gw = await load(t, block);
  const waiting = gw.fetch('/slow').catch(() => undefined);
  await expect.poll(() => slow.peer.requests.length, SOON).toBe(1);
  await gw.load(block.replace(over(first), over(second)), {});
  await expect.poll(() => addresses(gw), SOON).toBe('10.1.0.2:80');
  const [asked, { generation }] = [first.peer.requests.length, await show(gw)];
  const since = second.peer.requests.length;
  await expect.poll(() => second.peer.requests.length, SOON).toBeGreaterThan(since + 10);
  expect([first.peer.requests.length, (await show(gw)).generation]).toEqual([asked, generation]);
  await slow.peer.die();
  await waiting;
});
