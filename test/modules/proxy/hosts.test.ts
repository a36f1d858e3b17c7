import { beforeAll, expect, test } from 'vitest';
import { startDnsServer } from '../../harness/dns-server.ts';
import { type Gateway, startGateway } from '../../harness/gateway.ts';
import { wholeFile } from '../../harness/owner.ts';
import { startPeer } from '../../harness/peer.ts';

const owner = wholeFile();

let gw: Gateway;
let peer: Awaited<ReturnType<typeof startPeer>>;
let asked: readonly string[];

beforeAll(async () => {
  peer = await startPeer(owner, 'peer');
  const dns = await startDnsServer(owner, {
    'peer.test': { addresses: ['127.0.0.1'] },
    'a.example.test': { addresses: ['127.0.0.1'] },
    'example.test': { addresses: ['127.0.0.1'] },
    'near.test': { addresses: ['127.0.0.1'] },
    'two.test': { addresses: ['127.0.0.1', '127.9.9.9'] },
    'meta.test': { addresses: ['169.254.169.254'] },
    'mapped.test': { addresses: ['::ffff:7f00:1'] },
    'embedded.test': { addresses: ['64:ff9b::7f00:1'] },
    localhost: { addresses: ['127.0.0.1'] },
    '127.1': { addresses: ['127.0.0.1'] },
    '2130706433': { addresses: ['127.0.0.1'] },
    '0x7f000001': { addresses: ['127.0.0.1'] },
  });
  asked = dns.asked;
  gw = await startGateway(owner, confOf(dns.port, peer.port));
});

const confOf = (dnsPort: number, port: number): string =>
  `resolver 127.0.0.1:${dnsPort};
     upstream block { server 127.0.0.1:${port}; }
     map $arg_h $mapped { default 127.0.0.1:${port}; }
     server {
       location /free/ { proxy_pass http://$arg_h:${port}; }
       location /url/ { proxy_pass $arg_h; }
       location /named/ { proxy_pass http://$arg_h; }
       location /set/ { set $to $arg_h; proxy_pass http://$to:${port}; }
       location ~ ^/capture/(?<where>[^/]+)/(.+) { set $to_named $where; proxy_pass http://$to_named:${port}/; }
       location ~ ^/group/([^/]+)/ { proxy_pass http://$1:${port}/; }
       location /default/ {
         set $backend 127.0.0.1:${port};
         if ($arg_h) { set $backend $arg_h; }
         proxy_pass http://$backend;
       }
       location /own/ { set $own 127.0.0.1; proxy_pass http://$own:${port}$request_uri; }
       location /map/ { proxy_pass http://$mapped$uri; }
       location ~ ^/tail(/.*)$ { proxy_pass http://$mapped$1; }
       location /port/ { proxy_pass http://127.0.0.1:$arg_p; }
       location /literal/ { proxy_pass http://127.0.0.1:${port}; }
       location /list/ {
         proxy_allow_hosts peer.test *.example.test near.test:1;
         proxy_allow_hosts 127.0.0.0/24;
         proxy_pass http://$arg_h:${port};
       }
       location /names/ { proxy_allow_hosts .example.test; proxy_pass http://$arg_h:${port}; }
       location /strict/ { proxy_allow_hosts other.test; proxy_pass http://$mapped; }
       location /fixed/ { proxy_allow_hosts other.test; proxy_pass http://127.0.0.1:${port}$request_uri; }
       location /blocks/ { proxy_allow_hosts other.test; proxy_pass http://$arg_h; }
     }`;

type Case = readonly [path: string, status: number];

const LOOPBACK = [
  '127.0.0.1',
  '127.1.2.3',
  '0.0.0.0',
  '[::1]',
  '[::]',
  '[0:0:0:0:0:0:0:1]',
  '[::ffff:127.0.0.1]',
  '[::FFFF:7F00:1]',
  '[::127.0.0.1]',
  '[fe80::1]',
  '169.254.169.254',
  '[::ffff:169.254.169.254]',
  '[fd00:ec2::254]',
  '[64:ff9b::a9fe:a9fe]',
  '[2002:7f00:1::]',
  'localhost',
  'LOCALHOST',
  'localhost.',
  '127.1',
  '2130706433',
  '0x7f000001',
  'near.test',
  'Near.Test.',
  'meta.test',
  'mapped.test',
  'embedded.test',
];
const refused: readonly Case[] = [
  ...LOOPBACK.map((host): Case => [`/free/?h=${host}`, 403]),
  ['/url/?h=http://127.0.0.1/', 403],
  ['/named/?h=127.0.0.1:PORT', 403],
  ['/set/?h=127.0.0.1', 403],
  ['/capture/127.0.0.1/x', 403],
  ['/group/127.0.0.1/x', 403],
  ['/default/?h=127.0.0.1:1', 403],
  ['/list/?h=127.0.1.1', 403],
  ['/list/?h=[::1]', 403],
  ['/list/?h=two.test', 403],
  ['/list/?h=meta.test', 403],
  ['/list/?h=10.0.0.1', 403],
  ['/names/?h=peer.test', 403],
  ['/names/?h=xexample.test', 403],
  ['/names/?h=127.0.0.1', 403],
  ['/strict/?h=x', 403],
  ['/blocks/?h=127.0.0.1:PORT', 403],
  ['/blocks/?h=block:PORT', 403],
  ['/free/?h=user@127.0.0.1', 502],
  ['/free/?h=unix:/x', 502],
];
for (const [path, status] of refused) {
  test(`proxy_pass ${path} gets ${status} and opens no connection`, async () => {
    const before = peer.connections();
    const lines = gw.errorLog().split('\n').length;
    await gw.expect(`GET ${path.replace('PORT', String(peer.port))}`, { status });
    expect(peer.connections()).toBe(before);
    const added = gw
      .errorLog()
      .split('\n')
      .slice(lines - 1)
      .filter((line) => line.includes('[error]'));
    expect(added).toHaveLength(1);
    if (status === 403)
      expect(added[0]).toMatch(/ host "[^"]+" from variables is not allowed in "proxy_pass",/);
  });
}

const passed: readonly string[] = [
  '/literal/',
  '/named/?h=block',
  '/named/?h=BLOCK',
  '/blocks/?h=block',
  '/default/',
  '/default/?h=127.0.0.1:PORT',
  '/default/?h=block',
  '/own/x',
  '/map/x?h=y',
  '/tail/x',
  '/port/?p=PORT',
  '/fixed/x',
  '/list/?h=peer.test',
  '/list/?h=PEER.test.',
  '/list/?h=a.example.test',
  '/list/?h=near.test',
  '/list/?h=127.0.0.1',
  '/list/?h=[::ffff:127.0.0.1]',
  '/names/?h=example.test',
  '/names/?h=A.Example.Test',
];
for (const path of passed) {
  test(`proxy_pass ${path} is forwarded`, async () => {
    await gw.expect(`GET ${path.replace('PORT', String(peer.port))}`, { status: 200, body: 'peer' });
  });
}

test('a host that no name and no network could allow is not looked up', () =>
  expect(asked.filter((question) => question.endsWith(' xexample.test'))).toEqual([]));

test('a name is refused as soon as its addresses are refused', async (t) => {
  const dns = await startDnsServer(t, { 'moves.test': { addresses: ['127.0.0.1'], ttl: 0 } });
  const moving = await startGateway(
    t,
    `resolver 127.0.0.1:${dns.port} ipv6=off;
     server { proxy_allow_hosts 127.0.0.1; location / { proxy_pass http://$arg_h:${peer.port}; } }`,
  );
  await moving.expect('GET /?h=moves.test', { status: 200 });
  dns.names.set('moves.test', { addresses: ['127.0.0.2'], ttl: 0 });
  await moving.expect('GET /?h=moves.test', { status: 403 });
  dns.names.set('moves.test', { addresses: ['127.0.0.1'], ttl: 0 });
  await moving.expect('GET /?h=moves.test', { status: 200 });
});
