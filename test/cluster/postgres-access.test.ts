import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer } from 'node:net';
import { expect, test, type TestContext } from 'vitest';
import { schemaSql, StoreLost, StoreRefused } from '../../src/cluster/index.ts';
import { postgres, type TestDatabase } from '../harness/postgres.ts';
import {
  clusterDatabase,
  entriesOf,
  GATEWAY_ROLE,
  gatewayDsn,
  openPostgresStore,
  readyPostgresStore,
} from './stores.ts';

const NO_TABLES = 'it has no tables of clusters: run "gw db setup --cluster"';
const versionOf = (version: number): string =>
  `create or replace function gw_cluster.version() returns int language sql as 'select ${version}'`;
const as = ({ adminDsn }: TestDatabase, role: string): string =>
  adminDsn.replace('//postgres@', `//${role}@`);

const unfit: readonly {
  readonly it: string;
  readonly change?: string;
  readonly role?: string;
  readonly says: string;
}[] = [
  { it: 'has no tables', change: 'drop schema gw_cluster cascade', role: 'postgres', says: NO_TABLES },
  {
    it: 'has those of an older version',
    change: versionOf(0),
    says: 'its tables are of version 0, this gw needs 1: run "gw db setup --cluster"',
  },
  {
    it: 'has those of a newer version',
    change: versionOf(2),
    says: 'its tables are of version 2, this gw needs 1: use a newer gw',
  },
  {
    it: 'was set up for another role',
    role: 'authenticator',
    says: 'role "authenticator" may not use its tables: run "gw db setup --cluster" for it',
  },
  {
    it: 'does not know the role',
    role: 'nobody',
    says: 'role "nobody" does not exist: run "gw db setup --cluster"',
  },
];
for (const { it, change = '', role = GATEWAY_ROLE, says } of unfit) {
  test(`a database that ${it} is not used, and is told once`, async () => {
    const database = await clusterDatabase();
    await database.query(change);
    const one = await openPostgresStore({ url: as(database, role) });
    await expect.poll(() => one.told).toEqual([says]);
    await expect(one.store.append('ev:a', entriesOf(one))).rejects.toThrow(new StoreLost(says));
  });
}

test('a database that is set up while a gateway waits for it is taken', async () => {
  const database = await postgres();
  const url = database.adminDsn;
  const one = await openPostgresStore({ url });
  await expect.poll(() => one.told).toEqual([NO_TABLES]);
  await database.query(schemaSql({ role: GATEWAY_ROLE }));
  await one.ready();
  expect(one.told).toEqual([NO_TABLES, 'up']);
  await database.query('drop schema gw_cluster cascade');
  const refused = new StoreRefused('schema "gw_cluster" does not exist');
  await expect(one.store.append('ev:a', entriesOf(one))).rejects.toThrow(refused);
  await expect.poll(() => one.told).toEqual([NO_TABLES, 'up', refused.message, NO_TABLES]);
});

const replies = [
  {
    it: 'too many counters',
    body: 'returns setof bigint language sql as $$ select * from generate_series(1, 2) $$',
    reason: 'an unexpected reply to "append"',
  },
  {
    it: 'texts for counters',
    body: `returns text language sql as $$ select 'x' $$`,
    reason: 'an unexpected reply to "append"',
  },
  {
    it: 'more than fits',
    body: `returns setof text language sql as $$ select repeat('x', 1000000) from generate_series(1, 40) $$`,
    reason: 'a reply exceeds 33554432 bytes',
  },
  {
    it: 'nothing in time',
    body: 'returns void language sql as $$ select pg_sleep(60) $$',
    reason: 'no reply within 300 ms',
    isKept: true,
  },
];
for (const { it, body, reason, isKept } of replies) {
  test(`a session that gives ${it} is ${isKept ? 'kept' : 'left'}`, async () => {
    const database = await clusterDatabase();
    const args = 'text, text, bigint, text, text, text, bigint[], text[], text[]';
    await database.query(`drop function gw_cluster.append(${args})`);
    await database.query(`create function gw_cluster.append(${args}) ${body}`);
    const one = await readyPostgresStore({ url: gatewayDsn(database), timeoutMs: isKept ? 300 : 5_000 });
    await expect(one.store.append('ev:a', entriesOf(one))).rejects.toThrow(new StoreLost(reason));
    await one.ready();
    expect(one.told).toEqual(isKept ? ['up'] : ['up', reason, 'up']);
  });
}

test('a connection pooler is refused: it gives notifications to nobody', async (t) => {
  const { host, port, database } = await clusterDatabase();
  const server = createServer((client) => {
    const upstream = createConnection({ host, port });
    // The message with the number of the backend, which poolers replace by one of their own.
    upstream.on('data', (bytes) => {
      const at = bytes.indexOf(Buffer.from([0x4b, 0, 0, 0, 12]));
      if (at >= 0) bytes.writeInt32BE(4_711, at + 5);
      client.write(bytes);
    });
    client.on('data', (bytes) => upstream.write(bytes));
    for (const socket of [client, upstream])
      socket.on('error', () => undefined).on('close', () => [client, upstream].map((one) => one.destroy()));
  });
  const url = `postgres://${GATEWAY_ROLE}@127.0.0.1:${await listen(t, server)}/${database}`;
  const one = await openPostgresStore({ url });
  const says = 'a connection pooler stands in front of the server: connect to the server itself';
  await expect.poll(() => one.told).toEqual([says]);
});

test('a password that a server repeats is not told', async (t) => {
  const server = createServer((socket) => {
    const asksPassword = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3]);
    const text = 'SFATAL\0VFATAL\0C28P01\0Mwrong password "top secret"\0\0';
    const refusal = Buffer.alloc(5 + text.length);
    refusal.write('E');
    refusal.writeInt32BE(4 + text.length, 1);
    refusal.write(text, 5);
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.write(asksPassword);
      socket.once('data', () => socket.end(refusal));
    });
  });
  const port = await listen(t, server);
  const url = `host=127.0.0.1 port=${port} user=gw dbname=gw password='top secret' sslmode=disable`;
  const one = await openPostgresStore({ url });
  await expect.poll(() => one.told).toEqual(['wrong password "***"']);
});

async function listen(t: TestContext, server: ReturnType<typeof createServer>): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}
