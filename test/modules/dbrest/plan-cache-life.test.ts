import { expect, test, vi } from 'vitest';
import { startGateway } from '../../harness/gateway.ts';
import { postgres } from '../../harness/postgres.ts';
import { scrape } from '../control/scrapes.ts';
import { direct } from './direct.ts';

const CHANGING = `
  create table words (id int generated always as identity primary key, word text default 'old');
  create table items (id int primary key, name text);
  insert into items select i, 'n' || i from generate_series(1, 50) i;
  grant select, insert on words to anon;
  grant select on items to anon;
`;

test('a schema that is read again replaces the plans', async (t) => {
  const db = await postgres(CHANGING);
  const api = await direct(t, db.dsn);
  const headers = { 'content-type': 'application/json', prefer: 'missing=default,return=representation' };
  const insert = async (): Promise<string | undefined> => {
    const { x, done } = api.start('POST /api/words?columns=word&select=word', headers, '{}');
    await done;
    return x.sent?.body;
  };
  for (let i = 0; i < 3; i += 1) expect(await insert()).toBe('[{"word":"old"}]');
  await db.query(`alter table words alter word set default 'new'; notify pgrst, 'reload schema'`);
  await vi.waitFor(async () => expect(await insert()).toBe('[{"word":"new"}]'), { timeout: 10_000 });
});

test('while the schema changes, every request gets its own rows', async (t) => {
  const db = await postgres(CHANGING);
  const api = await direct(t, db.dsn, { poolSize: 4, poolTimeoutMs: 30_000 });
  const changes = [
    'alter table items add extra int default 1',
    'alter table items alter id type bigint',
    'alter table items alter extra type text',
    'alter table items rename to things; create view items as select name, id from things; grant select on items to anon',
    'drop view items; alter table things rename to items',
    'alter table items drop extra',
    'alter table items alter id type int',
  ];
  let isOver = false;
  let responses = 0;
  const wrong: string[] = [];
  const ask = async (client: number): Promise<void> => {
    for (let i = client; !isOver; i += 7) {
      const id = (i % 49) + 1;
      const isList = i % 2 === 0;
      const filter = isList ? `in.(${id},${id + 1})` : `eq.${id}`;
      const { status, body } = await api.get(`/api/items?select=id,name&order=id&id=${filter}`);
      const rows = (isList ? [id, id + 1] : [id]).map((n) => ({ id: n, name: `n${n}` }));
      responses += 1;
      if (status !== 200 || body.replaceAll(/\s/g, '') !== JSON.stringify(rows))
        wrong.push(`${id}: ${status} ${body}`);
    }
  };
  const clients = Promise.all(Array.from({ length: 6 }, (_, i) => ask(i)));
  for (let round = 0; round < 3; round += 1) {
    for (const sql of changes) {
      await db.query(sql);
      const seen = responses;
      await vi.waitFor(() => expect(responses).toBeGreaterThan(seen + 30), { timeout: 10_000, interval: 5 });
    }
  }
  isOver = true;
  await clients;
  expect(wrong).toEqual([]);
});

test('the cache forgets what was asked long ago, and its size is bounded', async (t) => {
  const db = await postgres(CHANGING);
  const gw = await startGateway(
    t,
    `server { location = /metrics { control_api metrics; }
       location /api/ { dbrest_pass ${db.dsn}; dbrest_anon_role anon; } }`,
  );
  const count = async (): Promise<(name: string) => number> => {
    const seen = await scrape(gw);
    const labels = `{database="${db.host}:${db.port}/${db.database}"}`;
    return (name) => seen.get(`gw_dbrest_plan_cache_${name}_total${labels}`) ?? 0;
  };
  const long = `or=(${Array.from({ length: 40 }, (_, i) => `name.eq.${i}`).join(',')})`;
  for (let i = 0; i < 200; i += 1) await gw.expect(`GET /api/items?id=eq.${i}`, { status: 200 });
  const before = await count();
  expect(before('hits') / before('requests')).toBeGreaterThan(0.9);
  expect(before('evictions')).toBe(0);
  for (let i = 0; i < 1_500; i += 1) await gw.expect(`GET /api/items?${long}&limit=${i}`, { status: 200 });
  const after = await count();
  expect(after('hits')).toBe(before('hits'));
  expect(after('evictions')).toBeGreaterThan(0);
  await gw.expect('GET /api/items?id=eq.7', { status: 200, body: '[{"id":7,"name":"n7"}]' });
});
