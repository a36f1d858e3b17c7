import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { isGenuine, type SealedEntry, StoreLost } from '../../src/cluster/index.ts';
import { keyEntryOf } from './keys.ts';
import {
  clusterDatabase,
  countersOf,
  entriesOf,
  gatewayDsn,
  ownDatabase,
  readOn,
  readyPostgresStore,
  type TestStore,
} from './stores.ts';

/** Runs SQL as the owner of the tables, who may do what no gateway can; $1 is the namespace of the store. */
async function asOwner<Row extends pg.QueryResultRow>(one: TestStore, sql: string): Promise<Row[]> {
  return (await ownDatabase()).query<Row>(sql, [one.seal.namespace]);
}

/** Adds a row to the stream `ev:a`. */
const addRow = (one: TestStore, counter: string, rest = `'1', 'gw-a', 'i1', 9, 'mac', '["a","b"]'`) =>
  asOwner(one, `insert into gw_cluster.entries values ($1, 'ev:a', ${counter}, ${rest})`);

test('the counter goes on behind what somebody else has added or removed', async () => {
  const one = await readyPostgresStore();
  const { store } = one;
  const asked = { counter: 5, origin: 'gw-a', incarnation: 'i1' };
  await store.append('ev:a', entriesOf(one, { count: 5 }));
  await asOwner(one, 'delete from gw_cluster.streams where namespace = $1');
  expect(await store.look('ev:a', asked)).toMatchObject({ counter: 5, lastSequence: 5 });
  expect(await store.append('ev:a', entriesOf(one, { first: 5, count: 2 }))).toEqual([0, 6]);
  await asOwner(one, 'delete from gw_cluster.entries where namespace = $1');
  expect(await store.tail('ev:a', 5)).toEqual({ entries: [], counter: 6 });
  expect(await store.look('ev:a', asked)).toMatchObject({ counter: 6, oldest: 7, mac: undefined });
  await addRow(one, '20');
  expect(await store.append('ev:a', entriesOf(one, { first: 7 }))).toEqual([21]);
});

for (const [table, columns] of Object.entries({
  streams: `'ev:a', 9223372036854775807`,
  entries: `'ev:a', 9223372036854775807, '1', 'gw-a', 'i1', 9, 'mac', '["a","b"]'`,
}))
  test(`a stream whose counter somebody has made the last number in ${table} goes on`, async () => {
    const one = await readyPostgresStore();
    await one.store.append('ev:a', entriesOf(one));
    await asOwner(one, `delete from gw_cluster.${table} where namespace = $1`);
    await asOwner(one, `insert into gw_cluster.${table} values ($1, ${columns})`);
    const asked = { counter: 1, origin: 'gw-a', incarnation: 'i1' };
    expect(await one.store.look('ev:a', asked)).toMatchObject({ counter: 1 });
    expect(countersOf(await readOn(one, 'ev:a', 1))).toEqual([]);
    expect(await one.store.append('ev:a', entriesOf(one, { first: 2 }))).toEqual([2]);
    expect(countersOf(await readOn(one, 'ev:a', 1))).toEqual([2]);
  });

test('what somebody else has added is read as entries that are not genuine', async () => {
  const one = await readyPostgresStore();
  const { store } = one;
  const [{ mac }] = entriesOf(one, { first: 9 }) as [SealedEntry];
  await store.append('ev:a', entriesOf(one, { count: 2 }));
  const head = (version: string, sequence: string): string =>
    `'${version}', 'gw-a', 'i1', ${sequence}, '${mac}'`;
  const lists = ['', '{}', '["a", 1]', '["payload"', '['.repeat(100_000), 'null', '["payload","y"]'];
  const rows = [
    ...lists.map((list) => `${head('1', '9')}, '${list}'`),
    ...['-9', '0', '99999999999999999'].map((sequence) => `${head('1', sequence)}, '["payload","x"]'`),
    `${head('2', '9')}, '["payload","x"]'`,
    `'1', 'gw-b', 'i1', 9, '${mac}', '["payload","x"]'`,
    `'1', 'gw-a', 'i1', 9, '${'m'.repeat(1_000)}', '["payload","x"]'`,
  ];
  for (const [nth, row] of rows.entries()) await addRow(one, String(nth + 3), row);
  await store.append('ev:a', entriesOf(one, { first: 3 }));
  const found = await readOn(one, 'ev:a');
  expect(countersOf(found)).toEqual(Array.from({ length: rows.length + 3 }, (_, nth) => nth + 1));
  const genuine = found.filter((entry) => isGenuine(one.seal, 'ev:a', entry));
  expect(genuine.map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
  const asked = { origin: '', incarnation: '', counter: rows.length + 2 };
  expect((await store.look('ev:a', asked)).mac).toBe('');
  expect((await store.look('ev:a', { ...asked, counter: rows.length })).mac).toBe('');
});

test('large entries are read some at a time, and one that is too large without its texts', async () => {
  const one = await readyPostgresStore();
  await one.store.append('ev:a', entriesOf(one));
  const junk = `'1', 'gw-a', 'i1', 9, 'mac', '["' || repeat('x', 900000) || '"]'`;
  await asOwner(
    one,
    `insert into gw_cluster.entries select $1, 'ev:a', 1 + nth, ${junk} from generate_series(1, 20) nth`,
  );
  await addRow(one, '22', junk.replace('900000', '30000000'));
  await one.store.append('ev:a', entriesOf(one, { first: 2 }));
  const lengths = [...Array<number>(20).fill(900_000), 0];
  const found = await readOn(one, 'ev:a');
  expect(countersOf(found)).toEqual(Array.from({ length: 23 }, (_, nth) => nth + 1));
  expect(found.slice(1, 22).map(({ fields }) => fields[0]?.length ?? 0)).toEqual(lengths);
  expect((await one.store.tail('ev:a', 50)).entries).toEqual(found);
  expect((await one.store.read(new Map([['ev:a', 0]]), 0)).get('ev:a')).toHaveLength(10);
  expect(one.told).toEqual(['up']);
});

test('origins that have come and gone do not fill the store', async () => {
  const one = await readyPostgresStore({ retain: 100 });
  const count = async (): Promise<number> => {
    const sql = 'select count(*)::int as origins from gw_cluster.origins where namespace = $1';
    return (await asOwner<{ origins: number }>(one, sql))[0]?.origins ?? 0;
  };
  // As of so many gateways that have each added an entry.
  const origins = `insert into gw_cluster.origins select $1, 'ev:a', 'gw-' || nth, 'i1', 1, nth from generate_series(1, 1500) nth`;
  await asOwner(one, origins);
  await addRow(one, '1500');
  expect(await one.store.append('ev:a', entriesOf(one, { origin: 'gw-1499', first: 2 }))).toEqual([1501]);
  expect(await count()).toBe(1500);
  expect(await one.store.append('ev:a', entriesOf(one, { origin: 'gw-new' }))).toEqual([1502]);
  // Those whose entries may be kept stay: from 1403 on, of which one had added two.
  expect(await count()).toBe(99);
  expect(await one.store.append('ev:a', entriesOf(one, { origin: 'gw-1499', first: 2 }))).toEqual([0]);
});

test('of two nodes of one name, and of each start of a node, the last entry is known', async () => {
  const one = await readyPostgresStore();
  const { store } = one;
  const lastOf = async (incarnation: string): Promise<number> =>
    (await store.look('ev:a', { counter: 0, origin: 'gw-a', incarnation })).lastSequence;
  expect(await store.append('ev:a', entriesOf(one, { incarnation: 'i1', count: 3 }))).toEqual([1, 2, 3]);
  expect(await store.append('ev:a', entriesOf(one, { incarnation: 'i2', count: 2 }))).toEqual([4, 5]);
  expect([await lastOf('i1'), await lastOf('i2'), await lastOf('i3')]).toEqual([3, 2, 0]);
  expect(await store.append('ev:a', entriesOf(one, { incarnation: 'i1', count: 4 }))).toEqual([0, 0, 0, 6]);
});

test('a smaller retain removes old entries, some with each hundred that are added', async () => {
  const one = await readyPostgresStore({ retain: 100 });
  const many = `insert into gw_cluster.entries select $1, 'ev:a', nth, '1', '', '', 1, '', '[]' from generate_series(1, 2500) nth`;
  await asOwner(one, many);
  const oldest = async (): Promise<number> =>
    (await one.store.look('ev:a', { counter: 1, origin: '', incarnation: '' })).oldest;
  for (const [nth, expected] of [1_001, 2_001, 2_701].entries()) {
    await one.store.append('ev:a', entriesOf(one, { first: 1 + 100 * nth, count: 100 }));
    expect(await oldest()).toBe(expected);
  }
});

test('nodes are forgotten after a day, with all they said', async () => {
  const one = await readyPostgresStore();
  const beat = (nodeId: string, stream: string) =>
    one.store.beat({
      nodeId,
      incarnation: 'i1',
      facts: '{}',
      heartbeatMs: 60_000,
      digests: new Map([[stream, '1']]),
    });
  for (let nth = 0; nth < 15; nth++) {
    await beat(`gw-${nth}`, `ev:${nth}`);
    await one.age(`gw-${nth}`, 86_400_001);
  }
  for (let nth = 0; nth < 2; nth++) expect((await beat('gw-a', 'ev:a')).members).toBe(1);
  expect(await one.store.members()).toHaveLength(1);
  const sql = 'select stream, node from gw_cluster.digests where namespace = $1';
  expect(await asOwner(one, sql)).toEqual([{ stream: 'ev:a', node: 'gw-a' }]);
});

test('members that somebody else has added are shown as they are, and not without end', async () => {
  const one = await readyPostgresStore();
  const digests = new Map<string, string>();
  await one.store.beat({ nodeId: 'gw-a', incarnation: 'i1', facts: '{}', heartbeatMs: 60_000, digests });
  const large = `'', repeat('x', 2000000), now() - interval '2 days' - nth * interval '1 s'`;
  await asOwner(
    one,
    `insert into gw_cluster.nodes select $1, 'large-' || nth, ${large} from generate_series(1, 10) nth`,
  );
  await asOwner(one, `insert into gw_cluster.nodes values ($1, 'early', '', '', now() + interval '1 day')`);
  expect((await one.store.members()).map(({ nodeId, facts }) => [nodeId, facts.length])).toEqual([
    ['early', 0],
    ['gw-a', 2],
    ...['large-1', 'large-2', 'large-3', 'large-4'].map((name) => [name, 2_000_000]),
  ]);
});

test('what somebody else has put among the keys is none of them, and is written over', async () => {
  const one = await readyPostgresStore();
  const write = (key: string, value?: string, ttlMs = 0) =>
    one.store.write('di:a', [keyEntryOf(one, { key, value, ttlMs })]);
  expect(await write('good', 'x')).toEqual([1]);
  const hash = `encode(sha256('k'), 'hex')`;
  const junk = `'1', 'gw-a', 'i', 1, 'mac', '["' || repeat('y', 1500000) || '"]', 1, 'x'`;
  await asOwner(one, `insert into gw_cluster.keys values ($1, 'di:a', ${hash}, 0, ${junk})`);
  await asOwner(one, `insert into gw_cluster.keys values ($1, 'di:a', 'zz', 7, ${junk})`);
  const { entries, next = '' } = await one.store.keys('di:a');
  const genuine = entries.filter((entry) => isGenuine(one.seal, 'di:a', entry));
  expect([entries.length, genuine.map(({ fields }) => fields[1])]).toEqual([3, ['good']]);
  expect(await one.store.keys('di:a', next)).toEqual({ entries: [], next: undefined });
  expect(await write('k', 'mine')).toEqual([2]);
});

test('what has expired and what was deleted long ago leaves the store', async () => {
  const one = await readyPostgresStore();
  const changes = [{ key: 'short', value: 'x', ttlMs: 1 }, { key: 'gone' }, { key: 'stays', value: 'x' }];
  const write = (...entries: Parameters<typeof keyEntryOf>[1][]) =>
    one.store.write(
      'di:a',
      entries.map((entry) => keyEntryOf(one, entry)),
    );
  await write(...changes);
  const old = `update gw_cluster.keys set expires = expires - interval '10 minutes' where namespace = $1`;
  await asOwner(one, old);
  expect((await one.store.keys('di:a')).entries.map(({ fields }) => fields[1])).toEqual(['stays']);
  await write({ key: 'other', value: 'y' });
  const sql = `select count(*)::int as kept from gw_cluster.keys where namespace = $1`;
  expect(await asOwner(one, sql)).toEqual([{ kept: 2 }]);
});

/** Gives nothing, and counts in a sequence how often it was called. */
const COUNTED_READ = `
  create sequence public.calls;
  create or replace function gw_cluster.read(
    of_namespace text, streams text[], behind bigint[], wanted bigint, most_bytes bigint, largest bigint
  ) returns table (
    nth bigint, counter bigint, version text, origin text, incarnation text, sequence bigint, mac text, texts text,
    stored_ms bigint
  ) language plpgsql security definer as $$ begin perform nextval('public.calls'); return; end $$`;

test('notifications of others do not make a read busy', async () => {
  const database = await clusterDatabase();
  await database.query(COUNTED_READ);
  const one = await readyPostgresStore({ url: gatewayDsn(database) });
  const callsOf = async (): Promise<number> =>
    Number((await database.query<{ nextval: string }>(`select nextval('public.calls')`))[0]?.nextval);
  const before = await callsOf();
  const reading = one.store.read(new Map([['ev:a', 0]]), 500);
  const client = new pg.Client(database.adminDsn);
  await client.connect();
  onTestFinished(() => client.end());
  for (let nth = 0; nth < 200; nth++)
    await client.query(`select pg_notify('gw_cluster', $1)`, [`${one.seal.namespace} ev:a`]);
  expect(await reading).toEqual(new Map());
  // One at the beginning, one for the first notification, and one for each 50 ms.
  expect((await callsOf()) - before).toBeLessThan(15);
  expect((await callsOf()) - before).toBeGreaterThan(3);
});

test('an entry without a notification comes with the next read', async () => {
  const one = await readyPostgresStore();
  const behind = new Map([['ev:a', 0]]);
  const reading = one.store.read(behind, 10_000);
  await addRow(one, '1');
  one.store.restartReading();
  expect(countersOf((await reading).get('ev:a'))).toEqual([1]);
});

test('rate limits are not shared, which is told at once', async () => {
  const { store } = await readyPostgresStore();
  const bucket = { zone: 'one', keyHash: 'x', milliRequestsPerSecond: 1_000, burst: 0, requests: 1 };
  await expect(store.admit(bucket)).rejects.toThrow(new StoreLost('PostgreSQL shares no rate limits'));
  expect(await store.policy()).toBeUndefined();
});

test('a role of gateways can call the functions, and do nothing else', async () => {
  const { adminDsn } = await ownDatabase();
  const client = new pg.Client(gatewayDsn({ adminDsn }));
  await client.connect();
  onTestFinished(() => client.end());
  for (const sql of [
    'select from gw_cluster.entries',
    'delete from gw_cluster.streams',
    'insert into gw_cluster.nodes (namespace) values (1)',
    'create table gw_cluster.mine ()',
    'create or replace function gw_cluster.version() returns int language sql as $$ select 9 $$',
  ])
    await expect(client.query(sql)).rejects.toMatchObject({ code: /^42501|2BP01/ });
});
