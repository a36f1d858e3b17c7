import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { type Gateway, startGateway } from '../harness/gateway.ts';
import type { Owner } from '../harness/owner.ts';
import { postgres } from '../harness/postgres.ts';
import { redis } from '../harness/redis.ts';
import { DatabaseTraffic } from './database-traffic.ts';

const CLIENTS = 32;
const CAN_FREEZE = existsSync('/proc/self/task');

test.runIf(CAN_FREEZE)('commands of one turn of the event loop share a write', async (t) => {
  const store = await redis();
  await store.client.set('/kv/k', 'value');
  const relay = await countingRelay(t, store.port);
  const location = `location /kv/ { kv_pass 127.0.0.1:${relay.port}; kv_key $uri; }`;
  const gw = await startGateway(t, `server { ${location} }`);
  const ask = await clientsOf(t, gw, '/kv/k');
  const before = relay.writes;
  await ask();
  expect(relay.writes - before).toBe(1);
});

test.runIf(CAN_FREEZE)('reads of one turn of the event loop share writes to the database', async (t) => {
  const traffic = new DatabaseTraffic();
  const db = await postgres('create table items (id int primary key); grant select on items to anon;');
  const dsn = await traffic.open(t, db);
  const location = `location /api/ { dbrest_pass ${dsn}; dbrest_anon_role anon; dbrest_pool_size 2; }`;
  const gw = await startGateway(t, `server { ${location} }`);
  const ask = await clientsOf(t, gw, '/api/items');
  // One write for each session, and one for each that had more to do. Statements share only after they were seen to be
  // short, and sessions are opened when they are needed, so the first rounds take more; on a busy machine also later ones.
  await expect.poll(async () => (await traffic.during(ask)).writes).toBeLessThanOrEqual(4);
});

/** Opens connections that the gateway has accepted; what is returned sends a request on each of them at once. */
async function clientsOf(t: Owner, gw: Gateway, path: string): Promise<() => Promise<void>> {
  const clients = Array.from({ length: CLIENTS }, () => connect(gw.port, '127.0.0.1'));
  t.onTestFinished(async () => clients.forEach((client) => client.destroy()));
  const send = (client: Socket): void => void client.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
  const response = async (client: Socket): Promise<void> => {
    const [bytes] = (await once(client, 'data')) as [Buffer];
    expect(String(bytes)).toMatch(/^HTTP\/1.1 200 /);
  };
  for (const client of clients) {
    send(client);
    await response(client);
  }
  return async () => {
    // What comes while the gateway is frozen it finds in one turn of its event loop, however busy the machine is.
    await freeze(gw);
    const responses = clients.map(response);
    for (const client of clients) send(client);
    gw.signal('SIGCONT');
    await Promise.all(responses);
  };
}

/** Resolves when no thread of the gateway runs. */
async function freeze(gw: Gateway): Promise<void> {
  gw.signal('SIGSTOP');
  const tasks = `/proc/${gw.pid}/task`;
  // pid (name) state … (proc(5)).
  const isStopped = (thread: string): boolean =>
    /^.*\) T/.test(readFileSync(`${tasks}/${thread}/stat`, 'utf8'));
  await expect.poll(() => readdirSync(tasks).every(isStopped), { interval: 1 }).toBe(true);
}

interface Relay {
  readonly port: number;
  /** Pieces in which the bytes of clients came. */
  writes: number;
}

/** Passes bytes on to a port and back. */
async function countingRelay(t: Owner, port: number): Promise<Relay> {
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    client.on('data', (bytes) => {
      relay.writes += 1;
      upstream.write(bytes);
    });
    upstream.pipe(client);
    for (const socket of [client, upstream])
      socket.on('error', () => undefined).on('close', () => (client.destroy(), upstream.destroy()));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.onTestFinished(async () => void server.close());
  const relay: Relay = { port: (server.address() as AddressInfo).port, writes: 0 };
  return relay;
}
