import { expect, test } from 'vitest';
import { type Gateway, oneGateway } from '../../harness/gateway.ts';
import type { Owner } from '../../harness/owner.ts';
import { startPeer, type TestPeer } from '../../harness/peer.ts';

const load = oneGateway({ workers: 2 });

/** Counts of an upstream survive a reload, so each test has its own names. */
let tests = 0;

interface Status {
  readonly [count: string]: unknown;
  readonly upstreams: readonly {
    readonly upstream: string;
    readonly peers: readonly Readonly<Record<string, unknown>>[];
  }[];
}

async function startPair(t: Owner): Promise<readonly [TestPeer, TestPeer]> {
  return Promise.all([startPeer(t, 'a'), startPeer(t, 'b')]);
}

const addressOf = ({ port }: TestPeer): string => `127.0.0.1:${port}`;

const confOf = (name: string, servers: string): string =>
  `upstream ${name} { ${servers} }
   server {
     location / { proxy_pass http://${name}; proxy_next_upstream_timeout 2s; }
     location = /status { upstream_balancer_status; }
   }`;

async function statusOf(gw: Gateway): Promise<Status> {
  const { body } = await gw.expect('GET /status', {
    status: 200,
    headers: { 'content-type': 'application/json' },
  });
  return JSON.parse(body) as Status;
}

test('upstream_balancer_status shows how an upstream selects, and the share of each peer', async (t) => {
  const [a, b] = await startPair(t);
  const name = `u${++tests}`;
  const servers = `server ${addressOf(a)} weight=3 route=first; server ${addressOf(b)}; server 127.0.0.1:1 down;
    least_conn; sticky route $arg_r;`;
  const gw = await load(t, confOf(name, servers));
  for (let nth = 0; nth < 8; nth++) await gw.expect('GET /', { status: 200 });
  for (let nth = 0; nth < 2; nth++) await gw.expect('GET /?r=first', { body: 'a' });
  const { upstreams, ...rest } = await statusOf(gw);
  expect(rest).toMatchObject({ module: 'upstream_balancer', status: 'ok' });
  const quiet = { backup: false, active_requests: 0, fails: 0, failures: 0 };
  expect(upstreams).toEqual([
    {
      upstream: name,
      method: 'least_conn',
      sticky: { kind: 'route', bound: 2, moved: 0, new: 8 },
      managed: false,
      picks: 10,
      peers: [
        { ...quiet, address: addressOf(a), weight: 3, route: 'first', state: 'up', picks: 8, share: 0.8 },
        { ...quiet, address: addressOf(b), weight: 1, state: 'up', picks: 2, share: 0.2 },
        { ...quiet, address: '127.0.0.1:1', weight: 1, state: 'down', picks: 0, share: 0 },
      ],
    },
  ]);
});

const KEY_COUNTS = [
  'direct_peer_hits',
  'hash_hits',
  'key_absent_misses',
  'direct_peer_misses',
  'fallback_next_total',
  'fallback_off_total',
  'cookies_issued_total',
  'cookies_rotated_total',
  'peer_rejections_tried_total',
  'peer_rejections_unhealthy_total',
  'peer_rejections_slow_start_total',
  'peer_rejections_fail_window_total',
  'peer_rejections_max_conns_total',
  'peer_rejections_draining_total',
] as const;

interface KeyCase {
  readonly it: string;
  readonly directives: string;
  /** The value of the cookie or header of each request; '' for none. A and B are replaced by the addresses. */
  readonly keys: readonly string[];
  readonly parameters?: string;
  readonly counts: Readonly<Record<string, number>>;
}

const cookie = 'upstream_balancer_sticky_cookie route;';

const keyed: readonly KeyCase[] = [
  {
    it: 'a peer that is named, a key that is hashed, and no key',
    directives: cookie,
    keys: ['peer:A', 'peer:A', 'someone', ''],
    counts: {
      sticky_cookie_requests_total: 4,
      requests_total: 4,
      direct_peer_hits: 2,
      hash_hits: 1,
      key_absent_misses: 1,
      fallback_next_total: 1,
    },
  },
  {
    it: 'a header',
    directives: 'upstream_balancer_sticky_header X-Route;',
    keys: ['someone'],
    counts: { sticky_header_requests_total: 1, requests_total: 1, hash_hits: 1 },
  },
  {
    it: 'cookies that are issued and replaced',
    directives: `${cookie} upstream_balancer_issue_cookie on;`,
    keys: ['', 'peer:10.9.9.9:80', 'peer:B'],
    counts: {
      sticky_cookie_requests_total: 3,
      requests_total: 3,
      key_absent_misses: 1,
      direct_peer_hits: 1,
      direct_peer_misses: 1,
      fallback_next_total: 2,
      cookies_issued_total: 1,
      cookies_rotated_total: 1,
    },
  },
  {
    it: 'requests that are refused',
    directives: `${cookie} upstream_balancer_fallback off;`,
    keys: ['', 'peer:10.9.9.9:80'],
    counts: {
      sticky_cookie_requests_total: 2,
      key_absent_misses: 1,
      direct_peer_misses: 1,
      fallback_off_total: 2,
    },
  },
  {
    it: 'a draining peer is left out of hashes, but serves requests that name it',
    directives: cookie,
    parameters: 'drain',
    keys: ['someone', 'peer:A'],
    counts: {
      sticky_cookie_requests_total: 2,
      requests_total: 2,
      hash_hits: 1,
      direct_peer_hits: 1,
      peer_rejections_draining_total: 1,
    },
  },
];

for (const { it, directives, keys, parameters = '', counts } of keyed) {
  test(`upstream_balancer_status counts ${it}`, async (t) => {
    const [a, b] = await startPair(t);
    const servers = `server ${addressOf(a)} ${parameters}; server ${addressOf(b)}; ${directives}`;
    const gw = await load(t, confOf(`u${++tests}`, servers));
    for (const key of keys) {
      const value = key.replace('A', addressOf(a)).replace('B', addressOf(b));
      const headers = value === '' ? {} : { cookie: `route=${value}`, 'x-route': value };
      await gw.fetch('/', { headers });
    }
    const names = ['requests_total', 'sticky_cookie_requests_total', 'sticky_header_requests_total'];
    const none = Object.fromEntries([...names, ...KEY_COUNTS].map((name) => [name, 0]));
    const seen = Object.fromEntries(Object.entries(await statusOf(gw)).filter(([name]) => name in none));
    expect(seen).toEqual({ ...none, ...counts });
  });
}

test('upstream_balancer_status shows why a named peer was not taken', async (t) => {
  const [a, b] = await startPair(t);
  const gw = await load(
    t,
    confOf(`u${++tests}`, `server ${addressOf(a)}; server ${addressOf(b)}; ${cookie}`),
  );
  const headers = { cookie: `route=peer:${addressOf(a)}` };
  await a.die();
  // The first request tries the failed peer; then no request does for a while.
  await gw.expect('GET /', { body: 'b' }, { headers });
  await gw.expect('GET /', { body: 'b' }, { headers });
  const { upstreams, ...counts } = await statusOf(gw);
  expect(counts).toMatchObject({ direct_peer_hits: 1, direct_peer_misses: 1, fallback_next_total: 1 });
  expect(counts['peer_rejections_fail_window_total']).toBe(1);
  expect(upstreams[0]?.peers[0]).toMatchObject({ state: 'failed', fails: 1, failures: 1 });
});

const methods: readonly (readonly [directive: string, method: string])[] = [
  ['', 'round_robin'],
  ['ip_hash;', 'ip_hash'],
  ['hash $uri;', 'hash'],
  ['hash $uri consistent;', 'hash consistent'],
  ['random;', 'random'],
  ['random two;', 'random two least_conn'],
  ['random two least_time=header;', 'random two least_time=header'],
  ['least_time last_byte inflight;', 'least_time last_byte inflight'],
];

test('upstream_balancer_status names each method as the configuration does', async (t) => {
  const blocks = methods.map(([directive], nth) => `upstream m${nth} { server 127.0.0.1:1; ${directive} }`);
  const gw = await load(
    t,
    `${blocks.join('\n')} server { location = /status { upstream_balancer_status; } }`,
  );
  const { upstreams } = await statusOf(gw);
  expect(upstreams.map((upstream) => (upstream as { method?: string }).method)).toEqual(
    methods.map(([, method]) => method),
  );
});

test('requests to peers that have left a group stay counted', async (t) => {
  const [a, b] = await startPair(t);
  const name = `u${++tests}`;
  const gw = await load(t, confOf(name, `server ${addressOf(a)};`));
  for (let nth = 0; nth < 3; nth++) await gw.expect('GET /', { body: 'a' });
  expect(await gw.reload(confOf(name, `server ${addressOf(b)};`))).toBe('done');
  await gw.expect('GET /', { body: 'b' });
  const { upstreams, ...counts } = await statusOf(gw);
  expect(counts).toMatchObject({ requests_total: 4 });
  expect(upstreams).toMatchObject([{ picks: 4, peers: [{ address: addressOf(b), picks: 1, share: 0.25 }] }]);
});

test('upstream_balancer_status refuses methods other than GET and HEAD', async (t) => {
  const gw = await load(t, `server { location = /status { upstream_balancer_status; } }`);
  await gw.expect('POST /status', { status: 405, headers: { allow: 'GET, HEAD' } });
  await gw.expect('HEAD /status', { status: 200, body: '' });
});
