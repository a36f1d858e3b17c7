import { expect, test } from 'vitest';
import { oneGateway, type Gateway } from '../../harness/gateway.ts';
import type { Owner } from '../../harness/owner.ts';
import { startPeer, type TestPeer } from '../../harness/peer.ts';

const load = oneGateway({ workers: 2 });

const A = '10.0.0.1:80';
const B = '10.0.0.2:80';
const LONG = '1'.repeat(65);
const JSON_TYPE = { 'Content-Type': 'application/json' };

const confOf = (servers: string, { api = '', more = '' } = {}): string =>
  `upstream app { ${servers} dynamic_upstreams_managed; }
   upstream fixed { server 127.0.0.1:1; }
   server {
     location / { proxy_pass http://app; proxy_next_upstream off; }
     location = /app { dynamic_upstreams_api; dynamic_upstreams_target app; ${api} }
     location = /fixed { dynamic_upstreams_api; dynamic_upstreams_target fixed; }
     location = /events { worker_events_api; worker_events_zone bus; worker_events_channel app; }
     ${more}
   }`;

const EVENTS = 'dynamic_upstreams_worker_events_zone bus; dynamic_upstreams_worker_events_channel app;';

interface Named extends TestPeer {
  readonly name: string;
  readonly address: string;
}

async function startPeers(t: Owner, names: string): Promise<readonly Named[]> {
  const start = async (name: string): Promise<Named> => {
    const peer = await startPeer(t, name);
    return Object.assign(peer, { name, address: `127.0.0.1:${peer.port}` });
  };
  return Promise.all([...names].map(start));
}

interface GroupState {
  readonly generation: number;
  readonly peers: readonly { readonly address: string; readonly state: string; readonly weight: number }[];
  readonly [field: string]: unknown;
}

type Write = (
  gw: Gateway,
  body: unknown,
  headers?: Readonly<Record<string, string>>,
) => Promise<{ readonly status: number; readonly json: Readonly<Record<string, unknown>> }>;

const writing =
  (method: string): Write =>
  async (gw, body, headers = {}) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const response = await gw.fetch('/app', { method, body: text, headers: { ...JSON_TYPE, ...headers } });
    const json = JSON.parse(response.body || '{}') as Readonly<Record<string, unknown>>;
    return { status: response.status, json };
  };

const put = writing('PUT');
const patch = writing('PATCH');

const show = async (gw: Gateway): Promise<GroupState> =>
  JSON.parse((await gw.fetch('/app')).body) as GroupState;

/** Returns the peers that serve the next requests. */
async function served(gw: Gateway, count = 12): Promise<string> {
  const bodies = await Promise.all(Array.from({ length: count }, () => gw.fetch('/')));
  return [...new Set(bodies.map(({ body }) => body))].toSorted((a, b) => a.localeCompare(b)).join('');
}

test('a group shows its peers with all their settings, and their state', async (t) => {
  const [a] = await startPeers(t, 'a');
  const servers = `server ${a?.address} weight=3 route=r1 slow_start=30s; server 127.0.0.1:1 down backup;`;
  const gw = await load(t, confOf(servers));
  const idle = { active_requests: 0, fails: 0 };
  const plain = { backup: false, down: false, max_conns: 0, max_fails: 1, fail_timeout: '10s', ...idle };
  expect(await show(gw)).toEqual({
    module: 'dynamic_upstreams',
    target: 'app',
    source: 'static',
    writable: true,
    generation: 0,
    peer_count: 2,
    drain_count: 0,
    last_error_code: 0,
    last_error_at_msec: 0,
    last_success_at_msec: 0,
    restored_from_journal: false,
    restore_error_code: 0,
    peers: [
      {
        address: a?.address,
        ...plain,
        weight: 3,
        slow_start: '30000ms',
        route: 'r1',
        state: 'up',
      },
      {
        address: '127.0.0.1:1',
        ...plain,
        weight: 1,
        slow_start: '0',
        backup: true,
        down: true,
        state: 'down',
      },
    ],
  });
});

test('PUT replaces the peers in all workers before its response', async (t) => {
  const [a, b, c] = await startPeers(t, 'abc');
  const gw = await load(t, confOf(`server ${a?.address};`));
  expect(await served(gw)).toBe('a');
  const peers = [{ address: b?.address }, { address: c?.address, weight: 2 }];
  expect(await put(gw, { peers })).toEqual({
    status: 200,
    json: {
      module: 'dynamic_upstreams',
      status: 'ok',
      action: 'put',
      changed: true,
      generation: 1,
      peer_count: 2,
    },
  });
  expect(await served(gw)).toBe('bc');
  expect((await put(gw, { peers })).json).toMatchObject({ changed: false, generation: 1 });
  expect(a?.requests).toHaveLength(12);
});

test('PATCH adds, removes and replaces peers and keeps the order of the others', async (t) => {
  const [a, b, c, d] = await startPeers(t, 'abcd');
  const gw = await load(t, confOf([a, b].map((peer) => `server ${peer?.address};`).join(' ')));
  const lists = {
    add: [{ address: c?.address, weight: 4 }],
    remove: [a?.address],
    replace: [{ current: b?.address, address: d?.address, weight: 3 }],
  };
  expect((await patch(gw, lists)).json).toEqual({
    module: 'dynamic_upstreams',
    status: 'ok',
    action: 'patch',
    changed: true,
    added: 2,
    removed: 2,
    generation: 1,
    peer_count: 2,
  });
  const { peers } = await show(gw);
  expect(peers.map(({ address, weight }) => [address, weight])).toEqual([
    [d?.address, 3],
    [c?.address, 4],
  ]);
  expect(await served(gw, 30)).toBe('cd');
  const weight = { replace: [{ current: c?.address, address: c?.address, weight: 9 }] };
  const weighed = { changed: true, added: 0, removed: 0, generation: 2 };
  expect((await patch(gw, weight)).json).toMatchObject(weighed);
  expect((await patch(gw, weight)).json).toMatchObject({ ...weighed, changed: false });
});

test('a drained peer gets no new request, stays drained in another set, and can be undrained', async (t) => {
  const [a, b] = await startPeers(t, 'ab');
  const gw = await load(t, confOf([a, b].map((peer) => `server ${peer?.address};`).join(' ')));
  const drained = await patch(gw, { drain: a?.address });
  expect(drained.json).toMatchObject({ action: 'drain', address: a?.address, changed: true, drain_count: 1 });
  expect((await patch(gw, { drain: a?.address })).json).toMatchObject({ changed: false });
  expect(await served(gw)).toBe('b');
  await put(gw, { peers: [a, b].map((peer) => ({ address: peer?.address, weight: 5 })) });
  expect((await show(gw)).peers.map(({ state }) => state)).toEqual(['draining', 'up']);
  expect(await served(gw)).toBe('b');
  expect((await patch(gw, { undrain: a?.address })).json).toMatchObject({
    changed: true,
    drain_count: 0,
  });
  expect(await served(gw, 20)).toBe('ab');
});

test('a replacement that changes nothing keeps the servers of the configuration', async (t) => {
  const gw = await load(t, confOf(`server ${A} weight=3; server ${B} max_fails=4;`));
  const replace = [{ current: A, address: A, weight: 3 }];
  const same = { changed: false, added: 0, removed: 0, generation: 0, peer_count: 2 };
  expect(await patch(gw, { replace })).toMatchObject({ status: 200, json: same });
  const moved = { replace: [{ current: A, address: '10.0.0.3:80' }] };
  const counts = { changed: true, added: 1, removed: 1, generation: 1, peer_count: 2 };
  expect((await patch(gw, moved)).json).toMatchObject(counts);
});

test('the only peer can be drained, which is logged', async (t) => {
  const [a] = await startPeers(t, 'a');
  const gw = await load(t, confOf(`server ${a?.address};`));
  const drained = await patch(gw, { drain: a?.address });
  expect(drained).toMatchObject({ status: 200, json: { changed: true, drain_count: 1 } });
  await gw.waitForLog(/\[warn\] .*no peer of upstream "app" takes new requests/);
  await gw.expect('GET /', { status: 502 });
  await patch(gw, { undrain: a?.address });
  await gw.expect('GET /', { status: 200 });
});

test('a success clears the code of the last failure', async (t) => {
  const gw = await load(t, confOf(`server ${A};`));
  const good = { peers: [{ address: B }] };
  for (const change of [good, good, { peers: [{ address: A }] }]) {
    await put(gw, 'nonsense');
    expect(await show(gw)).toMatchObject({ last_error_code: 4001 });
    expect((await put(gw, change)).status).toBe(200);
    const { last_error_code: code, last_error_at_msec: at } = await show(gw);
    expect([code, Number(at) > 0]).toEqual([0, true]);
  }
});

const peer = (more: object): object => ({ peers: [{ address: '10.0.0.1:80', ...more }] });
const refusals = [
  { it: 'is no JSON', body: '{"peers":', status: 400, error: 'body is not valid JSON' },
  { it: 'is no object', body: '[]', status: 400, error: 'body must be a JSON object' },
  { it: 'has an unknown field', body: { servers: [] }, status: 400, error: 'servers is not known' },
  { it: 'has no list', body: {}, status: 400, error: 'peers must be a list' },
  { it: 'has no peer', body: { peers: [] }, status: 400, error: 'peers must not be empty' },
  {
    it: 'has a peer that is no object',
    body: { peers: ['10.0.0.1:80'] },
    status: 400,
    error: 'peers[0] must be a JSON object',
  },
  {
    it: 'has a name instead of an address',
    body: { peers: [{ address: 'localhost:80' }] },
    status: 400,
    error: 'peers[0].address must be an IP address with a port',
  },
  {
    it: 'has a socket',
    body: { peers: [{ address: 'unix:/run/x.sock' }] },
    status: 400,
    error: 'peers[0].address must be an IP address with a port',
  },
  {
    it: 'has an address without a port',
    body: { peers: [{ address: '10.0.0.1' }] },
    status: 400,
    error: 'peers[0].address must be an IP address with a port',
  },
  {
    it: 'has an address of 65 bytes',
    body: { peers: [{ address: `${'1'.repeat(62)}:80` }] },
    status: 400,
    error: 'peers[0].address exceeds 64 bytes',
  },
  {
    it: 'has a weight of 0',
    body: peer({ weight: 0 }),
    status: 400,
    error: 'peers[0].weight must be an integer from 1 to 65535',
  },
  {
    it: 'has a weight that is a text',
    body: peer({ weight: '2' }),
    status: 400,
    error: 'peers[0].weight must be an integer from 1 to 65535',
  },
  {
    it: 'has a flag that is a number',
    body: peer({ down: 1 }),
    status: 400,
    error: 'peers[0].down must be true or false',
  },
  {
    it: 'has an invalid time',
    body: peer({ fail_timeout: 'soon' }),
    status: 400,
    error: 'peers[0].fail_timeout must be a time such as "10s"',
  },
  {
    it: 'has a long route',
    body: peer({ route: 'r'.repeat(33) }),
    status: 400,
    error: 'peers[0].route exceeds 32 bytes',
  },
  {
    it: 'has an unknown field of a peer',
    body: peer({ port: 80 }),
    status: 400,
    error: 'peers[0].port is not known',
  },
  {
    it: 'has an address twice',
    body: { peers: [{ address: '10.0.0.1:80' }, { address: '10.0.0.1:80' }] },
    status: 409,
    error: '"10.0.0.1:80" is given more than once',
  },
  {
    it: 'has more peers than there is room for',
    body: { peers: Array.from({ length: 257 }, (_, n) => ({ address: `10.0.${n >> 8}.${n & 255}:80` })) },
    status: 400,
    error: '257 peers exceed the room for 256',
  },
  {
    it: 'leaves no peer that can serve',
    body: peer({ down: true }),
    status: 503,
    error: 'no peer that can serve would remain',
  },
] as const;

test('a PUT with a fault is refused with the field named, and the former set stays', async (t) => {
  const [a] = await startPeers(t, 'a');
  const gw = await load(t, confOf(`server ${a?.address};`));
  for (const { it, body, status, error } of refusals) {
    const refused = await put(gw, body);
    expect([it, refused.status, refused.json]).toEqual([
      it,
      status,
      { module: 'dynamic_upstreams', status: 'error', error },
    ]);
  }
  expect(await show(gw)).toMatchObject({ generation: 0, last_error_code: 5031 });
  expect(await served(gw)).toBe('a');
});

const patches = [
  { body: {}, status: 400, error: 'one of drain, undrain, add, remove and replace is needed' },
  { body: { drain: A, add: [] }, status: 400, error: 'drain must be alone' },
  { body: { drain: A, undrain: B }, status: 400, error: 'drain must be alone' },
  { body: { drain: 7 }, status: 400, error: 'drain must be a text' },
  { body: { drain: LONG }, status: 400, error: 'drain exceeds 64 bytes' },
  { body: { undrain: LONG }, status: 400, error: 'undrain exceeds 64 bytes' },
  { body: { remove: [LONG] }, status: 400, error: 'remove[0] exceeds 64 bytes' },
  {
    body: { replace: [{ current: LONG, address: B }] },
    status: 400,
    error: 'replace[0].current exceeds 64 bytes',
  },
  { body: { drain: '10.9.9.9:80' }, status: 404, error: '"10.9.9.9:80" is not in the set' },
  { body: { undrain: '10.9.9.9:80' }, status: 404, error: '"10.9.9.9:80" is not in the set' },
  { body: { remove: ['10.9.9.9:80'] }, status: 404, error: '"10.9.9.9:80" is not in the set' },
  {
    body: { replace: [{ current: '10.9.9.9:80', address: B }] },
    status: 404,
    error: '"10.9.9.9:80" is not in the set',
  },
  { body: { replace: [{ address: B }] }, status: 400, error: 'replace[0].current must be a text' },
  { body: { add: [{ address: A }] }, status: 409, error: `"${A}" is given more than once` },
  {
    body: { remove: [A], add: [{ address: A }] },
    status: 409,
    error: `"${A}" is removed in the same patch`,
  },
  {
    body: { remove: [A], replace: [{ current: A, address: B }] },
    status: 409,
    error: `"${A}" is removed in the same patch`,
  },
  { body: { remove: [A, B] }, status: 400, error: 'no peer would remain' },
] as const;

test('a PATCH with a fault changes nothing', async (t) => {
  const gw = await load(t, confOf(`server ${A}; server ${B};`));
  for (const { body, status, error } of patches) {
    const refused = await patch(gw, body);
    expect([body, refused.status, refused.json['error']]).toEqual([body, status, error]);
  }
  await patch(gw, { drain: A });
  const last = await patch(gw, { remove: [B] });
  expect([last.status, last.json['error']]).toEqual([503, 'no peer that can serve would remain']);
  expect(await show(gw)).toMatchObject({ generation: 0, drain_count: 1 });
});

test('other methods, other types, long bodies and pages of other sites are refused', async (t) => {
  const gw = await load(t, confOf(`server ${A};`));
  await gw.expect('POST /app', { status: 405, headers: { allow: 'GET, HEAD, PUT, PATCH' } });
  await gw.expect('DELETE /app', { status: 405 });
  const body = JSON.stringify({ peers: [{ address: B }] });
  await gw.expect(
    'PUT /fixed',
    { status: 405, headers: { allow: 'GET, HEAD' } },
    { body, headers: JSON_TYPE },
  );
  await gw.expect('GET /fixed', { status: 200 });
  await gw.expect('PUT /app', { status: 415 }, { body, headers: { 'Content-Type': 'text/plain' } });
  await gw.expect('PUT /app', { status: 413 }, { body: ' '.repeat(262_145), headers: JSON_TYPE });
  const foreign = [
    { Host: 'evil.example' },
    { Origin: 'http://evil.example' },
    { 'Sec-Fetch-Site': 'cross-site' },
  ];
  for (const headers of foreign)
    await gw.expect('PUT /app', { status: 403 }, { body, headers: { ...JSON_TYPE, ...headers } });
  expect(await show(gw)).toMatchObject({ generation: 0 });
});

test('a change that expects another generation is refused', async (t) => {
  const gw = await load(t, confOf(`server ${A};`));
  const body = { peers: [{ address: B }] };
  expect((await put(gw, body, { 'If-Match': '"7"' })).status).toBe(412);
  expect((await put(gw, body, { 'If-Match': 'seven' })).status).toBe(412);
  expect((await put(gw, body, { 'If-Match': '"0"' })).json).toMatchObject({ generation: 1 });
  expect((await patch(gw, { drain: B }, { 'If-Match': '"0"' })).status).toBe(412);
});

test('the size of the zone is the room for peers', async (t) => {
  const gw = await load(t, confOf(`server ${A}; zone app 32k;`));
  const peers = Array.from({ length: 65 }, (_, n) => ({ address: `10.0.1.${n}:80` }));
  expect((await put(gw, { peers })).status).toBe(400);
  expect((await put(gw, { peers: peers.slice(1) })).status).toBe(200);
});

test('the longest peers fit', async (t) => {
  const gw = await load(t, confOf(`server ${A};`));
  const peers = Array.from({ length: 256 }, (_, n) => ({
    address: `[ffff:ffff:ffff:ffff:ffff:ffff:255.255.1.${n}]:65535`,
    weight: 65_535,
    max_conns: 2 ** 31 - 1,
    max_fails: 2 ** 31 - 1,
    fail_timeout: '2147483000ms',
    slow_start: '2147483000ms',
    route: 'r'.repeat(32),
  }));
  expect((await put(gw, { peers })).json).toMatchObject({ peer_count: 256 });
  expect((await show(gw)).peers).toHaveLength(256);
});

test('each change is published once, with its numbers', async (t) => {
  const gw = await load(t, confOf(`server ${A} max_fails=7;`, { api: EVENTS }));
  const { newest_generation: before } = JSON.parse((await gw.fetch('/events')).body) as {
    newest_generation: number;
  };
  const peers = [{ address: A }, { address: B }];
  await put(gw, { peers });
  await put(gw, { peers });
  await put(gw, 'nonsense');
  await patch(gw, { drain: A });
  await patch(gw, { undrain: A });
  await patch(gw, { remove: [A] });
  const { body } = await gw.fetch(`/events?since=${before}`);
  const { events } = JSON.parse(body) as { events: { type: string; payload: string }[] };
  expect(events.map(({ type, payload }) => [type, JSON.parse(payload) as unknown])).toEqual([
    ['snapshot_activated', { target: 'app', source: 'static', generation: 1, peer_count: 2 }],
    ['peer_draining', { target: 'app', address: A, drain_count: 1, generation: 1 }],
    ['peer_undrained', { target: 'app', address: A, drain_count: 0, generation: 1 }],
    ['snapshot_activated', { target: 'app', source: 'static', generation: 2, peer_count: 1 }],
  ]);
});

test('the set outlives a reload, unless the servers of the configuration change', async (t) => {
  const [a, b] = await startPeers(t, 'ab');
  const servers = `server ${a?.address};`;
  const gw = await load(t, confOf(servers));
  await put(gw, { peers: [{ address: b?.address }] });
  expect(await gw.reload(confOf(servers, { more: 'location /new { return 200 new; }' }))).toBe('done');
  await gw.expect('GET /new', { body: 'new' });
  expect(await served(gw)).toBe('b');
  expect(await gw.reload(confOf(`server ${a?.address} weight=2;`))).toBe('done');
  await expect.poll(() => served(gw)).toBe('a');
  expect(await show(gw)).toMatchObject({ generation: 0 });
});

test('metrics show the generation of a set and the state of each peer', async (t) => {
  const [a, b] = await startPeers(t, 'ab');
  const more = 'location = /metrics { control_api metrics; }';
  const gw = await load(t, confOf(`server ${a?.address} max_fails=5;`, { more }));
  await put(gw, { peers: [{ address: a?.address }, { address: b?.address }] });
  await patch(gw, { drain: b?.address });
  const metrics = async (): Promise<string> => (await gw.fetch('/metrics')).body;
  const stateOf = (peer: string | undefined, state: string): string =>
    `gw_upstream_peer_state{upstream="app",peer="${peer}",state="${state}"}`;
  await expect.poll(metrics).toContain(`${stateOf(b?.address, 'draining')} 1`);
  const text = await metrics();
  expect(text).toContain(`${stateOf(a?.address, 'up')} 1`);
  expect(text).toContain(`${stateOf(b?.address, 'up')} 0`);
  expect(text).toContain('gw_upstream_generation{upstream="app"} 1');
});

test('under changes of the set no request fails, and none reaches a peer that is in no set', async (t) => {
  const peers = await startPeers(t, 'abcd');
  const gw = await load(t, confOf(`server ${peers[0]?.address};`));
  let over = false;
  const statuses = new Set<number>();
  const lane = async (): Promise<void> => {
    while (!over) statuses.add((await gw.fetch('/')).status);
  };
  const lanes = Array.from({ length: 8 }, lane);
  for (let n = 0; n < 60; n++) {
    const [first, second] = [peers[n % 4], peers[(n + 1) % 4]];
    await put(gw, { peers: [{ address: first?.address }, { address: second?.address }] });
    await patch(gw, { drain: first?.address });
    const before = first?.requests.length;
    const open = first?.open();
    await served(gw, 8);
    // Requests that were pending when the peer began to drain may still have arrived.
    expect((first?.requests.length ?? 0) - (before ?? 0)).toBeLessThanOrEqual(Math.max(8, open ?? 0));
    await patch(gw, { undrain: first?.address });
  }
  over = true;
  await Promise.all(lanes);
  expect([...statuses]).toEqual([200]);
});
