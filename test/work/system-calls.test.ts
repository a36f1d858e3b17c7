import { rmSync } from 'node:fs';
import { beforeAll, test } from 'vitest';
import { Certificates } from '../harness/certificates.ts';
import { ON_NODE_ENGINE } from '../harness/engine.ts';
import { type Gateway, startGateway } from '../harness/gateway.ts';
import { wholeFile } from '../harness/owner.ts';
import { startPeer } from '../harness/peer.ts';
import { freePort } from '../harness/ports.ts';
import { postgres } from '../harness/postgres.ts';
import { redis } from '../harness/redis.ts';
import { openClient, type Over, type Sent } from './client.ts';
import { type Calls, expectCalls, FORWARDED_ON_NODE, ON_NODE, skipUntraced, TIMES } from './counted.ts';
import { whyNotTraced } from './strace.ts';

/** Until statements are prepared, code is compiled, and files are kept. */
const WARM_UP = 60;
const FIXTURE = `
  create table items (id int primary key, name text not null);
  insert into items select i, 'item ' || i from generate_series(1, 1000) i;
  create table orders (id bigint generated always as identity primary key, name text not null);
  grant select on items to anon; grant insert on orders to anon;`;

/** The most calls of one request. uWebSockets.js is asked for the client's address, which it does not remember. */
const CLIENT: Calls = ON_NODE_ENGINE ? ON_NODE : { ...ON_NODE, getpeername: 1 };
/** Those of a request with one more write and read on a connection that is kept open. */
const FORWARDED: Calls = { ...CLIENT, receive: 2, send: 2 };

interface Case extends Sent {
  readonly it: string;
  /** Default: HTTP/1.1. */
  readonly over?: Over;
  readonly calls: Calls;
}

const cases: readonly Case[] = [
  { it: 'return', path: '/return', calls: CLIENT },
  { it: 'return with an access log', path: '/logged', calls: { ...CLIENT, send: 2 } },
  // One stat: the file may have changed.
  { it: 'a small file', path: '/files/small', calls: { ...CLIENT, stat: 1 } },
  { it: 'a small file with open_file_cache', path: '/cached/small', calls: CLIENT },
  // Beyond 64 KB a file is read for each request, in pieces of 64 KB; the head goes out before them.
  {
    it: 'a file of 100 KB',
    path: '/files/large',
    calls: { ...CLIENT, stat: 1, open: 1, pread: 2, close: 1, send: 3 },
  },
  { it: 'a proxied request', path: '/proxy', calls: FORWARDED },
  { it: 'a proxied request with a body', path: '/proxy', method: 'POST', body: '{"n":1}', calls: FORWARDED },
  { it: 'a read of a key', path: '/kv/key', calls: FORWARDED },
  {
    it: 'a published event',
    path: '/events',
    method: 'POST',
    body: '{"type":"t","payload":"p"}',
    calls: CLIENT,
  },
  { it: 'a table read by its key', path: '/api/items?id=eq.7', calls: FORWARDED },
  { it: 'return over TLS', over: 'TLS', path: '/return', calls: ON_NODE },
  { it: 'a small file over TLS', over: 'TLS', path: '/files/small', calls: { ...ON_NODE, stat: 1 } },
  { it: 'a proxied request over TLS', over: 'TLS', path: '/proxy', calls: FORWARDED_ON_NODE },
  { it: 'return over HTTP/2', over: 'HTTP/2', path: '/return', calls: ON_NODE },
  { it: 'a proxied request over HTTP/2', over: 'HTTP/2', path: '/proxy', calls: FORWARDED_ON_NODE },
  { it: 'an inserted row', path: '/api/orders', method: 'POST', body: '{"name":"n"}', calls: FORWARDED },
];

const file = wholeFile();
let gw: Gateway;
/** The ports of the gateway. */
let ports: Readonly<Record<Over, number>>;
let untraced: string | undefined;
beforeAll(async () => {
  const [tls, http2] = [await freePort(), await freePort()];
  const certificates = new Certificates();
  file.onTestFinished(async () => rmSync(certificates.dir, { recursive: true }));
  certificates.authority('a');
  const [db, store, peer] = await Promise.all([postgres(FIXTURE), redis(), startPeer(file, 'a response')]);
  await store.client.set('/kv/key', 'value');
  gw = await startGateway(
    file,
    (dir) => `
      access_log off;
      upstream behind { server 127.0.0.1:${peer.port}; keepalive 4; }
      ssl_certificate ${certificates.path('a.crt')};
      ssl_certificate_key ${certificates.path('a.key')};
      server {
        listen 127.0.0.1:${tls} ssl;
        listen 127.0.0.1:${http2} http2;
        location /return { return 200 ok; }
        location /files/ { alias ${dir}/; }
        location /proxy { proxy_pass http://behind; proxy_http_version 1.1; proxy_set_header Connection ""; }
      }
      server {
        location /return { return 200 ok; }
        location /logged { access_log ${dir}/logged.log; return 200 ok; }
        location /files/ { alias ${dir}/; }
        location /cached/ { alias ${dir}/; open_file_cache max=100; }
        location /proxy { proxy_pass http://behind; proxy_http_version 1.1; proxy_set_header Connection ""; }
        location /kv/ { kv_pass 127.0.0.1:${store.port}; kv_key $uri; }
        location /events { worker_events_api; worker_events_zone bus; worker_events_channel c; }
        location /api/ { dbrest_pass ${db.dsn}; dbrest_anon_role anon; }
      }`,
    { files: { small: 'x'.repeat(4_096), large: 'x'.repeat(100_000) } },
  );
  ports = { 'HTTP/1.1': gw.port, TLS: tls, 'HTTP/2': http2 };
  untraced = await whyNotTraced(gw.pid);
  if (untraced !== undefined) console.log(`system calls are not counted: ${untraced}`);
});

for (const { it, calls, over = 'HTTP/1.1', ...sent } of cases) {
  test(`${it} takes no more system calls than it must`, async (t) => {
    skipUntraced(t, untraced);
    const client = openClient(t, ports[over], over);
    await client.send(sent, WARM_UP);
    await expectCalls(gw.pid, () => client.send(sent, TIMES), calls);
  });
}
