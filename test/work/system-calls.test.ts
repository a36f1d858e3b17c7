import { beforeAll, expect, test } from 'vitest';
import { ON_NODE_ENGINE } from '../harness/engine.ts';
import { type Gateway, startGateway } from '../harness/gateway.ts';
import { wholeFile } from '../harness/owner.ts';
import { startPeer } from '../harness/peer.ts';
import { postgres } from '../harness/postgres.ts';
import { redis } from '../harness/redis.ts';
import { type Sent, SequentialClient } from './client.ts';
import { systemCallsDuring, whyNotTraced } from './strace.ts';

const REQUESTS = 300;
/** Until statements are prepared, code is compiled, and files are kept. */
const WARM_UP = 60;
/**
 * Calls beyond a whole number for each request: the heartbeat of a worker (four a second), timers of pools, and what the
 * master does meanwhile. On a slow machine there are more of them.
 */
const ALLOWANCE = 0.15;

const FIXTURE = `
  create table items (id int primary key, name text not null);
  insert into items select i, 'item ' || i from generate_series(1, 1000) i;
  create table orders (id bigint generated always as identity primary key, name text not null);
  grant select on items to anon; grant insert on orders to anon;`;

type Calls = Readonly<Record<string, number>>;

/** The most calls of one request. uWebSockets.js is asked for the client's address, which it does not remember. */
const CLIENT: Calls = ON_NODE_ENGINE ? { receive: 1, send: 1 } : { receive: 1, send: 1, getpeername: 1 };
/** Those of a request with one more write and read on a connection that is kept open. */
const FORWARDED: Calls = { ...CLIENT, receive: 2, send: 2 };

const cases: readonly (Sent & { readonly it: string; readonly calls: Calls })[] = [
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
  { it: 'an inserted row', path: '/api/orders', method: 'POST', body: '{"name":"n"}', calls: FORWARDED },
];

const file = wholeFile();
let gw: Gateway;
let untraced: string | undefined;
beforeAll(async () => {
  const [db, store, peer] = await Promise.all([postgres(FIXTURE), redis(), startPeer(file, 'a response')]);
  await store.client.set('/kv/key', 'value');
  gw = await startGateway(
    file,
    (dir) => `
      access_log off;
      upstream behind { server 127.0.0.1:${peer.port}; keepalive 4; }
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
  untraced = await whyNotTraced(gw.pid);
  if (untraced !== undefined) console.log(`system calls are not counted: ${untraced}`);
});

for (const { it, calls, ...sent } of cases) {
  test(`${it} takes no more system calls than it must`, async (t) => {
    if (untraced !== undefined) return t.skip(untraced);
    const client = new SequentialClient(t, gw.port);
    await client.send(sent, WARM_UP);
    const counts = await systemCallsDuring(gw.pid, () => client.send(sent, REQUESTS));
    const perRequest = Object.fromEntries(
      [...counts].map(([kind, count]) => [kind, Math.ceil(count / REQUESTS - ALLOWANCE)]),
    );
    const excess = Object.entries(perRequest).filter(([kind, count]) => count > (calls[kind] ?? 0));
    expect(excess, `one of ${REQUESTS} requests: ${JSON.stringify([...counts])}`).toEqual([]);
  });
}
