import { Agent, get } from 'node:http';
import { expect, test, vi } from 'vitest';
import { startDnsServer } from '../../harness/dns-server.ts';
import { oneGateway, startGateway } from '../../harness/gateway.ts';
import { startPeer } from '../../harness/peer.ts';

const load = oneGateway();

const FAST = { timeout: 15_000, interval: 20 };

test('a name that does not resolve is logged at the start, its requests get 502, and everything else works', async (t) => {
  const peer = await startPeer(t, 'p');
  const gw = await startGateway(
    t,
    `upstream gone { server nowhere.invalid; }
     upstream some { server nowhere.invalid:81; server 127.0.0.1:${peer.port}; }
     server {
       proxy_http_version 1.1;
       location /gone { proxy_pass http://gone; }
       location /some { proxy_pass http://some; }
       location /literal { proxy_pass http://literal.invalid/x; }
       location /here { return 200 here; }
     }`,
    { workers: 2 },
  );
  await gw.expect('GET /gone', { status: 502 });
  await gw.expect('GET /literal', { status: 502 });
  await gw.expect('GET /some', { body: 'p' });
  await gw.expect('GET /here', { body: 'here' });
  const told = gw.errorLog().match(/host not found in upstream "[^"]+" in \S+gw\.conf:\d+/g) ?? [];
  const names = new Set(told.map((line) => /"(.*)"/.exec(line)?.[1]));
  expect(told).toHaveLength(3);
  expect(names).toEqual(new Set(['nowhere.invalid', 'nowhere.invalid:81', 'literal.invalid']));
});

test('requests name hosts that a resolver knows; an unknown one gets 502 and is logged', async (t) => {
  const peer = await startPeer(t, 'p');
  const dns = await startDnsServer(t, {
    'p.test': { addresses: ['127.0.0.1'] },
    'broken.test': { fault: 2 },
  });
  const gw = await load(
    t,
    `resolver 127.0.0.1:${dns.port} ipv6=off valid=1h;
     server {
       proxy_http_version 1.1;
       proxy_allow_hosts 127.0.0.1;
       location / { proxy_pass http://$arg_host:${peer.port}; }
     }`,
  );
  for (let n = 0; n < 5; n++) await gw.expect('GET /?host=p.test', { body: 'p' });
  await gw.expect('GET /?host=P.TEST', { body: 'p' });
  await gw.expect('GET /?host=127.0.0.1', { body: 'p' });
  expect(dns.asked).toEqual(['A p.test']);
  await gw.expect('GET /?host=nowhere.test', { status: 502 });
  await gw.expect('GET /?host=broken.test', { status: 502 });
  await gw.waitForLog(/nowhere\.test could not be resolved \(3: Host not found\)/);
  await gw.waitForLog(/broken\.test could not be resolved \(2: Server failure\)/);
});

test('requests cannot name a socket of this machine or hide a host behind a login', async (t) => {
  const gw = await load(
    t,
    `resolver 127.0.0.1:1;
     server { location / { proxy_pass http://$arg_host; } }`,
  );
  for (const host of [
    'unix:/run/x.sock',
    'unix:/run/x.sock:/',
    'a@127.0.0.1',
    'x:y@127.0.0.1',
    '127.0.0.1:0',
    '::1',
  ]) {
    const { status } = await gw.fetch(`/?host=${host}`);
    expect([host, status >= 500]).toEqual([host, true]);
  }
});

test('a name in a request needs a resolver', async (t) => {
  const gw = await load(t, 'server { location / { proxy_pass http://$arg_host; } }');
  await gw.expect('GET /?host=a.test', { status: 502 });
  await gw.waitForLog(/no resolver defined to resolve a\.test/);
});

test('a server with "resolve" moves with its name while requests go on', async (t) => {
  const [before, after] = await Promise.all([startPeer(t, 'before'), startPeer(t, 'after')]);
  const service = (port: number) => [{ priority: 1, weight: 1, port, target: 'p.test' }];
  const name = '_http._tcp.p.test';
  const dns = await startDnsServer(t, {
    'p.test': { addresses: ['127.0.0.1'] },
    [name]: { services: service(before.port) },
  });
  const gw = await startGateway(
    t,
    `upstream u { server p.test service=http resolve; resolver 127.0.0.1:${dns.port} ipv6=off valid=1s; }
     server { location / { proxy_http_version 1.1; proxy_pass http://u; } }`,
    { workers: 2 },
  );
  for (let n = 0; n < 4; n++) await gw.expect('GET /', { body: 'before' });
  dns.names.set(name, { services: service(after.port) });
  await vi.waitFor(async () => {
    for (let n = 0; n < 8; n++) await gw.expect('GET /', { status: 200, body: 'after' });
  }, FAST);
});

const resolvedServers = [
  { it: 'a name', server: (port: number) => `server p.test:${port} resolve;` },
  { it: 'a service', server: () => 'server p.test service=http resolve;' },
];

for (const { it, server } of resolvedServers) {
  test(`after a reload, a group begins with the known addresses of ${it}, though the name server fails`, async (t) => {
    const peer = await startPeer(t, 'p');
    const dns = await startDnsServer(t, {
      'p.test': { addresses: ['127.0.0.1'] },
      '_http._tcp.p.test': { services: [{ priority: 1, weight: 1, port: peer.port, target: 'p.test' }] },
    });
    const confOf = (more: string): string =>
      `resolver 127.0.0.1:${dns.port} ipv6=off;
       upstream u { zone u 64k; ${server(peer.port)} ${more} }
       server {
         proxy_http_version 1.1;
         location / { proxy_pass http://u; }
       }`;
    const gw = await startGateway(t, confOf(''), { workers: 2 });
    await gw.expect('GET /', { body: 'p' });
    for (const name of dns.names.keys()) dns.names.set(name, { fault: 2 });
    expect(await gw.reload(confOf('server q.test resolve; keepalive 4;'))).toBe('done');
    for (let n = 0; n < 8; n++) await gw.expect('GET /', { body: 'p' });
    expect(await gw.reload(confOf('').replaceAll('p.test', 'q.test'))).toBe('done');
    await gw.expect('GET /', { status: 502 });
  });
}

test('after a reload, known addresses serve with a changed port, though the name server fails', async (t) => {
  const [before, after] = await Promise.all([startPeer(t, 'before'), startPeer(t, 'after')]);
  const dns = await startDnsServer(t, { 'p.test': { addresses: ['127.0.0.1'] } });
  const confOf = (port: number): string =>
    `resolver 127.0.0.1:${dns.port} ipv6=off;
     upstream u { zone u 64k; server p.test:${port} resolve; }
     server { location / { proxy_http_version 1.1; proxy_pass http://u; } }`;
  const gw = await startGateway(t, confOf(before.port));
  await gw.expect('GET /', { body: 'before' });
  dns.names.set('p.test', { fault: 2 });
  expect(await gw.reload(confOf(after.port))).toBe('done');
  await gw.expect('GET /', { body: 'after' });
});

/** The status of a request on a kept connection. */
function statusOf(agent: Agent, port: number, path: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, path, agent }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode));
    }).on('error', reject);
  });
}

test('requests may name any number of hosts, and hosts with the same address share kept connections', async (t) => {
  const peer = await startPeer(t, 'p');
  const dns = await startDnsServer(t, {});
  for (let n = 0; n < 1200; n++) dns.names.set(`h${n}.test`, { addresses: ['127.0.0.1'], ttl: 60 });
  const gw = await load(
    t,
    `resolver 127.0.0.1:${dns.port} ipv6=off;
     server { location / { proxy_http_version 1.1; proxy_set_header Connection ""; proxy_allow_hosts 127.0.0.1; proxy_pass http://$arg_host:${peer.port}; } }`,
  );
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.onTestFinished(() => agent.destroy());
  const statuses: (number | undefined)[] = [];
  for (let n = 0; n < 1200; n++) statuses.push(await statusOf(agent, gw.port, `/?host=h${n}.test`));
  expect(statuses).toEqual(Array.from({ length: 1200 }, () => 200));
  expect(peer.connections()).toBeLessThan(20);
});
