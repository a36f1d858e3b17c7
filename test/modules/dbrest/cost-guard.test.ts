import { beforeAll, describe, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../harness/gateway.ts';
import { wholeFile } from '../../harness/owner.ts';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';
import { scrape } from '../control/scrapes.ts';

/** Kind 1 has many items, the other kinds one each; likewise the owners of notes, whom a header identifies. */
const FIXTURE = `
  create table items (id int primary key, kind int, name text default 'new');
  insert into items select i, case when i <= 50 then i else 1 end, 'item ' || i from generate_series(1, 30000) i;
  create index on items (kind);
  create table notes (id int primary key, owner text);
  insert into notes select i, case when i <= 50 then 'o' || i else 'all' end from generate_series(1, 30000) i;
  create index on notes (owner);
  alter table notes enable row level security;
  create policy own on notes using (owner = current_setting('request.headers', true)::json ->> 'x-owner');
  create table orders (id int generated always as identity primary key, item int references items);
  insert into orders (item) select case when i <= 50 then i else 1 end from generate_series(1, 30000) i;
  create index on orders (item);
  create sequence runs;
  create function run() returns bigint language sql as $$ select nextval('runs') $$;
  create function run_long() returns bigint cost 1000000 language plpgsql as $$ begin return nextval('runs'); end $$;
  create function of_kind(k int) returns setof items stable language sql as 'select * from items where kind = k';
  create table log (at timestamptz default now());
  create function note() returns void language sql as 'insert into log default values';
  grant select, insert, update, delete on items, notes, orders to anon;
  grant usage on sequence runs to anon;
  grant insert, select on log to anon;
  analyze;`;

const file = wholeFile();
let db: TestDatabase;
let gw: Gateway;
beforeAll(async () => {
  db = await postgres(FIXTURE);
  const served = `dbrest_pass ${db.dsn}; dbrest_anon_role anon; dbrest_max_cost 300;`;
  gw = await startGateway(
    file,
    `server {
       location = /metrics { control_api metrics; }
       location /api/ { ${served} dbrest_plan on; }
       location /noting/ { ${served} dbrest_pre_request note; }
       location /short/ { ${served} dbrest_error_verbosity minimal; }
     }`,
  );
});

const REFUSAL =
  /^\{"code":"DBREST100","details":"The estimated cost is [\d.]+, at most 300 is allowed\.","hint":".+","message":"[^"]+"\}$/;

/** A cheap request, and one that differs in something that must not let it pass. */
const pairs: readonly {
  readonly it: string;
  readonly cheap: string;
  readonly costly: string;
  readonly headers?: readonly [cheap: Record<string, string>, costly: Record<string, string>];
  readonly bodies?: readonly [cheap: string, costly: string];
}[] = [
  { it: 'another value of a filter', cheap: 'GET items?kind=eq.7', costly: 'GET items?kind=eq.1' },
  { it: 'another bound', cheap: 'GET items?id=lt.5', costly: 'GET items?id=lt.500000' },
  { it: 'another list', cheap: 'GET items?kind=in.(2,3)', costly: 'GET items?kind=in.(1,3)' },
  { it: 'another limit', cheap: 'GET items?limit=10', costly: 'GET items?limit=30000' },
  { it: 'no limit', cheap: 'GET items?limit=10', costly: 'GET items' },
  { it: 'another offset', cheap: 'GET items?limit=9&offset=1', costly: 'GET items?limit=9&offset=29000' },
  {
    it: 'another Range',
    cheap: 'GET items',
    costly: 'GET items',
    headers: [{ range: '0-9' }, { range: '0-29999' }],
  },
  {
    it: 'a count of all rows',
    cheap: 'GET items?limit=9',
    costly: 'GET items?limit=9',
    headers: [{}, { prefer: 'count=exact' }],
  },
  {
    it: 'another number of rows with embedded ones',
    cheap: 'GET items?id=lt.7&select=id,orders(*)',
    costly: 'GET items?id=lt.700&select=id,orders(*)',
  },
  {
    it: 'another header that a policy reads',
    cheap: 'GET notes',
    costly: 'GET notes',
    headers: [{ 'x-owner': 'o7' }, { 'x-owner': 'all' }],
  },
  { it: 'another argument', cheap: 'GET rpc/of_kind?k=7', costly: 'GET rpc/of_kind?k=1' },
  {
    it: 'a plan that executes the statement',
    cheap: 'GET items',
    costly: 'GET items',
    headers: [
      { accept: 'application/vnd.dbrest.plan' },
      { accept: 'application/vnd.dbrest.plan; options=analyze' },
    ],
  },
  {
    it: 'rows of a change',
    cheap: 'PATCH items?id=lt.3',
    costly: 'PATCH items?id=gt.3',
    bodies: ['{"name":"x"}', '{"name":"y"}'],
  },
  { it: 'rows of a deletion', cheap: 'DELETE orders?id=lt.3', costly: 'DELETE orders?id=gt.3' },
  { it: 'nothing but its method', cheap: 'HEAD items?limit=1', costly: 'HEAD items?order=name' },
];

describe('what passed once lets nothing pass that costs more:', () => {
  test.each(pairs)('$it', async ({ cheap, costly, headers = [{}, {}], bodies = [] }) => {
    const send = async (line: string, i: 0 | 1): Promise<{ status: number; body: string }> => {
      const [method = '', target = ''] = line.split(' ');
      const body = bodies[i];
      const type = body === undefined ? {} : { 'content-type': 'application/json' };
      return gw.fetch(`/api/${target}`, {
        method,
        headers: { ...type, ...headers[i] },
        ...(body !== undefined && { body }),
      });
    };
    for (let i = 0; i < 2; i += 1) {
      const passed = await send(cheap, 0);
      expect(passed.status, passed.body).toBeLessThan(300);
      const refused = await send(costly, 1);
      expect(refused.status, refused.body).toBe(400);
      if (!costly.startsWith('HEAD')) expect(refused.body).toMatch(REFUSAL);
    }
  });
});

test('a refused request executes nothing, and one that passes runs once', async () => {
  const runs = async (): Promise<number> => {
    const [row] = await db.query<{ n: string }>(
      `select case when is_called then last_value else 0 end as n from runs`,
    );
    return Number(row?.n);
  };
  const before = await runs();
  await gw.expect('POST /api/rpc/run_long', { status: 400, body: REFUSAL });
  expect(await runs()).toBe(before);
  await gw.expect('POST /api/rpc/run', { status: 200 });
  expect(await runs()).toBe(before + 1);
  const [{ n } = { n: '' }] = await db.query<{ n: string }>(
    `select count(*) as n from items where name in ('y', 'new')`,
  );
  expect(n).toBe('0');
});

test('what dbrest_pre_request does for an estimate is undone', async () => {
  await gw.expect('POST /noting/orders', { status: 201 }, { body: '{"item":7}', headers: JSON_BODY });
  await gw.expect('POST /noting/orders', { status: 201 }, { body: '{"item":7}', headers: JSON_BODY });
  await gw.expect('PATCH /noting/items', { status: 400 }, { body: '{"kind":7}', headers: JSON_BODY });
  expect(await db.query('select count(*)::int as n from log')).toEqual([{ n: 2 }]);
});

const JSON_BODY = { 'content-type': 'application/json' };

test('a bulk insert and single rows pass, whatever their values', async () => {
  const rows = JSON.stringify(Array.from({ length: 2_000 }, () => ({ item: 9 })));
  await gw.expect('POST /api/orders', { status: 201 }, { body: rows, headers: JSON_BODY });
  for (const id of [1, 2, 30_000])
    await gw.expect(`GET /api/items?id=eq.${id}&select=id`, { json: [{ id }] });
});

test('with short errors the cost is not told', async () => {
  await gw.expect('GET /short/items', { status: 400, body: /^\{"code":"DBREST100","message":"[^"]+"\}$/ });
});

test('a fault of the request itself is told as without the guard', async () => {
  await gw.expect('GET /api/log?at=eq.nonsense', { status: 400, body: /"code":"22007"/ });
  await gw.expect('GET /api/nowhere', { status: 404, body: /"code":"PGRST205"/ });
});

test('refusals are counted', async () => {
  const name = `gw_dbrest_cost_refusals_total{database="${db.host}:${db.port}/${db.database}"}`;
  const before = (await scrape(gw)).get(name) ?? 0;
  for (let i = 0; i < 3; i += 1) await gw.expect('GET /api/items', { status: 400 });
  expect((await scrape(gw)).get(name)).toBe(before + 3);
});
