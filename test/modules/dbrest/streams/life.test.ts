import pg from 'pg';
import { beforeEach, expect, type TestContext, test } from 'vitest';
import { type EventSource, openEvents } from '../../../harness/event-source.ts';
import { type Gateway, gatewayPerOptions } from '../../../harness/gateway.ts';
import { postgres, type TestDatabase } from '../../../harness/postgres.ts';
import { scrape } from '../../control/scrapes.ts';
import { CHAT } from './chat.ts';

const load = gatewayPerOptions();
let db: TestDatabase;
beforeEach(async () => {
  db = await postgres(CHAT);
});

const conf = (directives = ''): string =>
  `server { location /api/ { dbrest_pass ${db.dsn}; dbrest_anon_role anon; dbrest_live on; ${directives} } }`;

function serve(t: TestContext, directives = '', workers = 1): Promise<Gateway> {
  return load(t, conf(directives), { workers });
}

type Client = (path: string, lastId?: string) => Promise<EventSource>;

const clientOf =
  (t: TestContext, { url }: Gateway): Client =>
  (path, lastId) =>
    openEvents(t, `${url}/api/${path}`, lastId === undefined ? {} : { 'last-event-id': lastId });

const insert = (id: number) => db.query(`insert into seats values ('A', ${id})`);
const numbers = (source: EventSource, from = 0): string[] =>
  source.events.slice(from).map(({ event, data }) => {
    const [, number = ''] = /"number": ?(\d+)/.exec(data) ?? [];
    return `${event} ${number}`.trim();
  });

test('a client that comes back goes on after its last event', async (t) => {
  const gw = await serve(t);
  const open = clientOf(t, gw);
  const stays = await open('seats');
  const first = await open('seats');
  await insert(1);
  await first.until(2);
  first.close();
  await insert(2);
  await stays.until(3);
  const again = await open('seats', first.lastId);
  await insert(3);
  await expect.poll(() => numbers(again).at(-1)).toBe('insert 3');
  // The last event may come twice.
  expect(numbers(again).filter((text) => text !== 'insert 1')).toEqual(['insert 2', 'insert 3']);
});

test('a client that was alone goes on as well, if it comes back soon', async (t) => {
  const gw = await serve(t);
  const open = clientOf(t, gw);
  const first = await open('seats');
  await insert(1);
  await first.until(2);
  first.close();
  await insert(2);
  const again = await open('seats', first.lastId);
  await expect.poll(() => numbers(again).at(-1)).toBe('insert 2');
  expect(numbers(again)).not.toContain('snapshot');
});

const strange = ['0', 'x', '-1', 'zz-1', `${'a'.repeat(3_000)}-1`];
test('a client whose last event is not known begins with the rows', async (t) => {
  const gw = await serve(t);
  const open = clientOf(t, gw);
  await insert(1);
  for (const id of strange) {
    const again = await open('seats', id);
    await again.until(1);
    expect(numbers(again), id).toEqual(['snapshot 1']);
  }
});

test('a client that has missed more than is kept begins with the rows', async (t) => {
  const gw = await serve(t, 'dbrest_live_buffer 300;');
  const open = clientOf(t, gw);
  const stays = await open('seats?limit=0');
  const first = await open('seats?limit=0');
  await insert(1);
  await first.until(2);
  first.close();
  for (let id = 2; id < 12; id += 1) {
    await insert(id);
    await stays.until(id + 1);
  }
  const again = await open('seats?limit=0', first.lastId);
  await again.until(1);
  expect(again.events[0]?.event).toBe('snapshot');
});

test('streams of all workers are told, over one connection that listens', async (t) => {
  const gw = await serve(t, '', 3);
  const open = clientOf(t, gw);
  const streams = await Promise.all(Array.from({ length: 30 }, () => open('seats')));
  await Promise.all(streams.map((stream) => stream.until(1)));
  await insert(1);
  await Promise.all(streams.map((stream) => stream.until(2)));
  for (const stream of streams) expect(numbers(stream)).toEqual(['snapshot', 'insert 1']);
  const listening = await db.query<{ count: string }>(
    `select count(*) from pg_stat_activity where datname = current_database() and query ~ '^(listen|select 1$)'`,
  );
  expect(listening[0]?.count).toBe('1');
});

test('changes that were made while nobody listened are told when somebody does again', async (t) => {
  const gw = await serve(t);
  const open = clientOf(t, gw);
  const all = await open('seats');
  const part = await open('seats?limit=5');
  await insert(1);
  await Promise.all([all.until(2), part.until(2)]);
  await db.query(`
    select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid();
    alter table seats disable trigger user;
    insert into seats values ('A', 2);
    delete from seats where number = 1;
    alter table seats enable trigger user;`);
  await Promise.all([all.until(4), part.until(4)]);
  for (const stream of [all, part]) expect(numbers(stream, 2).sort()).toEqual(['delete 1', 'insert 2']);
});

test('a client that does not read is cut off, and others are not held back', async (t) => {
  const gw = await serve(t, 'dbrest_live_buffer 64k;');
  const open = clientOf(t, gw);
  const slow = await open('texts');
  await slow.until(1);
  slow.response.pause();
  const reads = await open('texts');
  // More than the kernel keeps for a connection.
  for (let burst = 1; burst <= 30; burst += 1) {
    await db.query(
      `insert into texts select '${burst}.' || i, to_json(repeat('x', 50000)) from generate_series(1, 20) i`,
    );
    await reads.until(1 + 20 * burst);
  }
  slow.response.resume();
  await slow.ended();
  expect(slow.events.length).toBeLessThan(601);
  expect(reads.hasEnded).toBe(false);
  const again = await open('texts?select=id', slow.lastId);
  await again.until(1);
  expect(JSON.parse(again.events[0]?.data ?? '')).toHaveLength(600);
});

test('HEAD leaves nothing behind that a change makes the gateway read', async (t) => {
  const gw = await load(t, `${conf().slice(0, -1)} location = /metrics { control_api metrics; } }`);
  const stream = await clientOf(t, gw)('seats');
  await stream.until(1);
  const accept = 'text/event-stream';
  for (let n = 0; n < 30; n += 1) {
    const { status } = await gw.fetch(`/api/seats?number=gt.${n}`, { method: 'HEAD', headers: { accept } });
    expect(status).toBe(200);
  }
  const reads = async (): Promise<number> => {
    const counts = [...(await scrape(gw))].filter(([name]) =>
      name.startsWith('gw_dbrest_query_seconds_count'),
    );
    return counts.reduce((sum, [, count]) => sum + count, 0);
  };
  const before = await reads();
  await insert(1);
  await insert(2);
  await stream.until(3);
  expect((await reads()) - before).toBeLessThan(5);
});

test('followed reads that take long leave sessions to requests', async (t) => {
  await db.query(`create function gate(seats) returns int volatile language sql as
    $$ select 1 from (select pg_advisory_xact_lock_shared(78)) l $$`);
  const gw = await serve(t, 'dbrest_pool_size 2; dbrest_pool_timeout 2s;');
  await insert(1);
  const open = clientOf(t, gw);
  const streams = await Promise.all(
    [1, 2, 3, 4].map((n) => open(`seats?select=number,gate&number=lt.10${n}`)),
  );
  await Promise.all(streams.map((stream) => stream.until(1)));
  const holder = new pg.Client(db.adminDsn);
  await holder.connect();
  try {
    await holder.query('select pg_advisory_lock(78)');
    await insert(2);
    const waiting = `select from pg_stat_activity where wait_event = 'advisory' and datname = current_database()`;
    await expect.poll(async () => (await db.query(waiting)).length).toBeGreaterThan(0);
    for (let n = 0; n < 5; n += 1) await gw.expect('GET /api/rooms?limit=0', { status: 200 });
  } finally {
    await holder.end();
  }
  await Promise.all(streams.map((stream) => stream.until(2)));
});

test('rows that are too long together are refused while they are read, before all of them have come', async (t) => {
  const gw = await serve(t, 'dbrest_timeout 3s;');
  await db.query(`
    create function nap(texts) returns text volatile language sql as $$
      select case when $1.id = 'last' then pg_sleep(60)::text end $$;
    insert into texts select i, to_json(repeat('x', 1000000)) from generate_series(1, 30) i;
    insert into texts values ('last');
    notify pgrst`);
  const open = clientOf(t, gw);
  const refused = async () => (await open('texts?select=doc,nap')).body;
  await expect.poll(refused, { timeout: 10_000 }).toMatch(/DBREST122.*16777216 characters/);
});

test('streams beyond the limit of a client or a location are refused until others have ended', async (t) => {
  const gw = await serve(t, 'dbrest_max_streams 3; dbrest_max_streams_per_client 2;', 2);
  const open = clientOf(t, gw);
  const [first] = await Promise.all([open('seats'), open('seats')]);
  const third = await open('seats');
  await third.ended();
  expect([third.response.statusCode, third.response.headers['retry-after']]).toEqual([429, '1']);
  expect(third.body).toContain('DBREST123');
  first.close();
  await expect.poll(async () => (await open('seats')).response.statusCode).toBe(200);
});

test('a reload ends streams, and clients go on with the new configuration', async (t) => {
  const gw = await serve(t);
  const open = clientOf(t, gw);
  const stream = await open('seats');
  await stream.until(1);
  await gw.reload(gw.confOf(conf()));
  await stream.ended();
  const again = await open('seats', stream.lastId);
  await again.until(1);
  await insert(1);
  await again.until(2);
  expect(numbers(again)).toEqual(['snapshot', 'insert 1']);
});

test('without a database there is no stream, and with it there is again', async (t) => {
  const gw = await load(
    t,
    `server { location /api/ { dbrest_pass "host=127.0.0.1 port=1 dbname=x user=y"; dbrest_anon_role anon; dbrest_live on; } }`,
  );
  const open = clientOf(t, gw);
  const { response } = await open('seats');
  expect([response.statusCode, response.headers['retry-after']]).toEqual([503, '1']);
});
