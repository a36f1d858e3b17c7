import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { expect, test } from 'vitest';
import { oneGateway } from '../../harness/gateway.ts';
import type { Owner } from '../../harness/owner.ts';
import { startPeer, type TestPeer } from '../../harness/peer.ts';

const load = oneGateway();
const loadTwo = oneGateway({ workers: 2 });

type NamedPeer = TestPeer & { readonly name: string };

/** Starts three peers that respond with their name and set the requested session. */
async function startPeers(t: Owner): Promise<readonly [NamedPeer, NamedPeer, NamedPeer]> {
  const start = async (name: string) => {
    const peer = await startPeer(t, name, ({ url = '' }, response) => {
      const session = /[?&]new=(\w+)/.exec(url)?.[1];
      if (session !== undefined) response.setHeader('Set-Cookie', `app=${session}`);
      if (url.startsWith('/fails')) response.statusCode = 503;
      response.end(name);
    });
    return Object.assign(peer, { name });
  };
  return Promise.all([start('a'), start('b'), start('c')]);
}

const confOf = (
  peers: readonly NamedPeer[],
  directives: string,
  { server = '', location = '' } = {},
): string =>
  `upstream u {
     ${peers.map(({ port, name }) => `server 127.0.0.1:${port} ${server.replace('NAME', name)};`).join(' ')}
     ${directives}
   }
   server { location / { proxy_pass http://u; ${location} } }`;

const idOf = ({ port }: TestPeer): string => createHash('md5').update(`127.0.0.1:${port}`).digest('hex');

const cookies = [
  { it: 'names the peer by the MD5 of its address', parameters: '', ends: '' },
  {
    it: 'has a lifetime',
    parameters: 'expires=1h',
    ends: /^; expires=\w{3}, \d\d-\w{3}-\d\d [\d:]{8} GMT; max-age=3600$/,
  },
  {
    it: 'lives until 2037',
    parameters: 'expires=max',
    ends: '; expires=Thu, 31-Dec-37 23:55:55 GMT; max-age=315360000',
  },
  {
    it: 'has its attributes in the order of nginx',
    parameters: 'path=/app samesite=lax secure httponly domain=.example.com',
    ends: '; domain=.example.com; httponly; secure; samesite=lax; path=/app',
  },
  { it: 'has no domain if the variable is empty', parameters: 'domain=$arg_domain path=/', ends: '; path=/' },
  {
    it: 'takes an unknown value of a variable for the strictest one',
    parameters: 'samesite=$arg_site',
    query: '?site=loose',
    ends: '; samesite=strict',
  },
  {
    it: 'takes a known value of a variable',
    parameters: 'samesite=$arg_site',
    query: '?site=None',
    ends: '; samesite=None',
  },
  { it: 'has no samesite if the variable is empty', parameters: 'samesite=$arg_site', ends: '' },
];

for (const { it, parameters, query = '', ends } of cookies) {
  test(`the cookie of sticky ${it}`, async (t) => {
    const [a, b] = await startPeers(t);
    const gw = await load(t, confOf([a, b], `sticky cookie srv ${parameters};`));
    const { headers, body } = await gw.fetch(`/${query}`);
    const [cookie = ''] = headers.getSetCookie();
    const id = idOf(body === 'a' ? a : b);
    expect(cookie.slice(0, 36)).toBe(`srv=${id}`);
    if (typeof ends === 'string') expect(cookie.slice(36)).toBe(ends);
    else expect(cookie.slice(36)).toMatch(ends);
  });
}

test('a request with the cookie reaches the peer that it names, and gets the cookie again', async (t) => {
  const peers = await startPeers(t);
  const gw = await loadTwo(t, confOf(peers, 'sticky cookie srv path=/;', { server: 'route=r-NAME' }));
  for (const name of ['b', 'b', 'c', 'b', 'a']) {
    const { body, headers } = await gw.fetch('/', { headers: { Cookie: `x=1; srv=r-${name}` } });
    expect([body, headers.getSetCookie()]).toEqual([name, [`srv=r-${name}; path=/`]]);
  }
});

test('the cookie stands beside those of the upstream', async (t) => {
  const peers = await startPeers(t);
  const gw = await load(t, confOf(peers, 'sticky cookie srv;', { server: 'route=NAME' }));
  const { headers } = await gw.fetch('/?new=s1', { headers: { Cookie: 'srv=b' } });
  expect(headers.getSetCookie()).toEqual(['app=s1', 'srv=b']);
});

test('a request whose peer fails is bound to the one that serves it', async (t) => {
  const peers = await startPeers(t);
  const gw = await load(t, confOf(peers, 'sticky cookie srv;', { server: 'route=NAME' }));
  await peers[1].die();
  const { body, headers } = await gw.fetch('/', { headers: { Cookie: 'srv=b' } });
  expect(body).not.toBe('b');
  expect(headers.getSetCookie()).toEqual([`srv=${body}`]);
});

test('a response of the gateway itself names the last peer that was tried', async (t) => {
  const [a] = await startPeers(t);
  const gw = await load(t, confOf([a], 'sticky cookie srv;', { server: 'route=NAME' }));
  await a.die();
  const { status, headers } = await gw.fetch('/');
  expect([status, headers.getSetCookie()]).toEqual([502, ['srv=a']]);
});

test('the first variable of sticky route that is not empty names the peer', async (t) => {
  const peers = await startPeers(t);
  const gw = await load(t, confOf(peers, 'sticky route $cookie_route $arg_route;', { server: 'route=NAME' }));
  await gw.expect('GET /?route=c', { body: 'b' }, { headers: { Cookie: 'route=b' } });
  const { body } = await gw.fetch('/?route=b', { headers: { Cookie: 'route=b' } });
  expect(body).toBe('b');
  for (let n = 0; n < 3; n++) await gw.expect('GET /?route=c', { body: 'c' });
  const unbound = await Promise.all(Array.from({ length: 9 }, () => gw.fetch('/?route=nobody')));
  expect(new Set(unbound.map((response) => response.body)).size).toBe(3);
});

test('sticky works with every balancing method', async (t) => {
  const peers = await startPeers(t);
  const methods = [
    'least_conn;',
    'least_time header;',
    'ip_hash;',
    'hash $uri;',
    'hash $uri consistent;',
    'random two;',
  ];
  for (const method of methods) {
    const gw = await load(t, confOf(peers, `${method} sticky route $arg_r;`, { server: 'route=NAME' }));
    for (const name of ['a', 'b', 'c']) await gw.expect(`GET /?r=${name}`, { body: name });
  }
});

test('a draining peer gets bound requests only, a peer that is down none', async (t) => {
  const [a, b] = await startPeers(t);
  const gw = await load(
    t,
    `upstream u {
       server 127.0.0.1:${a.port} route=a drain; server 127.0.0.1:${b.port} route=b;
       server 127.0.0.1:1 route=c down; sticky route $arg_r;
     }
     server { location / { proxy_pass http://u; } }`,
  );
  for (const [path, name] of [
    ['/', 'b'],
    ['/', 'b'],
    ['/?r=a', 'a'],
    ['/?r=c', 'b'],
  ])
    await gw.expect(`GET ${path}`, { body: name as string });
});

const LEARN =
  'sticky learn create=$upstream_cookie_app lookup=$cookie_app lookup=$arg_session zone=sessions:32k';

for (const parameters of ['', 'header', 'timeout=1h header']) {
  test(`sticky learn ${parameters} binds a session to the peer that created it, in every worker`, async (t) => {
    const peers = await startPeers(t);
    const gw = await loadTwo(t, confOf(peers, `${LEARN} ${parameters};`));
    const { body } = await gw.fetch('/?new=mine');
    for (let n = 0; n < 6; n++) {
      await gw.expect('GET /', { body }, { headers: { Cookie: 'app=mine' } });
      await gw.expect('GET /?session=mine', { body });
    }
  });
}

test('a session that no response has created is not learnt', async (t) => {
  const peers = await startPeers(t);
  const gw = await load(t, confOf(peers, `${LEARN};`));
  const bodies = await Promise.all(
    [1, 2, 3].map(() => gw.fetch('/', { headers: { Cookie: 'app=foreign' } })),
  );
  expect(new Set(bodies.map(({ body }) => body)).size).toBe(3);
});

test('a session moves to the peer that serves it when its own has gone', async (t) => {
  const peers = await startPeers(t);
  const gw = await load(t, confOf(peers, `${LEARN};`));
  const { body: first } = await gw.fetch('/?new=moving');
  await peers.find(({ name }) => name === first)?.die();
  const headers = { Cookie: 'app=moving' };
  const { body: second } = await gw.fetch('/', { headers });
  expect(second).not.toBe(first);
  for (let n = 0; n < 4; n++) await gw.expect('GET /', { body: second }, { headers });
});

test('a full zone drops the oldest sessions and says so', async (t) => {
  const peers = await startPeers(t);
  const gw = await load(t, confOf(peers, `${LEARN};`));
  for (let n = 0; n < 400; n++) await gw.fetch(`/?new=s${n}`);
  const [line] = await gw.waitForLog(/sticky zone .*/);
  expect(line).toContain('sticky zone "sessions" is full, the oldest sessions are dropped');
});

test('a key is hashed over the weights of the peers that can serve', async (t) => {
  const peers = await startPeers(t);
  const gw = await loadTwo(t, confOf(peers, 'upstream_balancer_sticky_header X-User-ID;'));
  for (const key of ['ann', 'bob', 'cid', 'dan']) {
    const expected = 'abc'[crc32(key) % 3] as string;
    for (let n = 0; n < 2; n++)
      await gw.expect('GET /', { body: expected }, { headers: { 'X-User-ID': key } });
  }
});

test('a cookie is issued to clients without one and to those whose peer has gone', async (t) => {
  const peers = await startPeers(t);
  const gw = await load(
    t,
    confOf(peers, 'upstream_balancer_sticky_cookie route; upstream_balancer_issue_cookie on;'),
  );
  const addressOf = (name: string) => `127.0.0.1:${peers.find((peer) => peer.name === name)?.port}`;
  const first = await gw.fetch('/');
  const cookie = `route=peer:${addressOf(first.body)}`;
  expect(first.headers.getSetCookie()).toEqual([`${cookie}; Path=/; HttpOnly; SameSite=Lax`]);
  const again = await gw.fetch('/', { headers: { Cookie: cookie } });
  expect([again.body, again.headers.getSetCookie()]).toEqual([first.body, []]);
  const stale = await gw.fetch('/', { headers: { Cookie: 'route=peer:10.9.9.9:1' } });
  expect(stale.headers.getSetCookie()).toEqual([
    `route=peer:${addressOf(stale.body)}; Path=/; HttpOnly; SameSite=Lax`,
  ]);
});

test('without a fallback, a request that no usable peer is bound to gets 502', async (t) => {
  const peers = await startPeers(t);
  const strict = 'upstream_balancer_sticky_cookie route; upstream_balancer_fallback off;';
  const gw = await load(t, confOf(peers, `${strict} upstream_balancer_cookie_attrs Path=/x;`));
  await gw.expect('GET /', { status: 502 });
  await gw.expect('GET /', { status: 502 }, { headers: { Cookie: 'route=peer:10.9.9.9:1' } });
  const cookie = `route=peer:127.0.0.1:${peers[2].port}`;
  await gw.expect('GET /', { status: 200, body: 'c' }, { headers: { Cookie: cookie } });
});

test('a session stays with its backup while all other peers are away', async (t) => {
  const [a, b] = await startPeers(t);
  const gw = await load(
    t,
    `upstream u {
       server 127.0.0.1:1;
       server 127.0.0.1:${a.port} backup route=a;
       server 127.0.0.1:${b.port} backup route=b;
       sticky route $cookie_s;
     }
     server { location / { proxy_pass http://u; } }`,
  );
  for (const name of ['b', 'b', 'a', 'b', 'a', 'a'])
    expect((await gw.fetch('/', { headers: { cookie: `s=${name}` } })).body).toBe(name);
});
