import { expect, test } from 'vitest';
import { openEvents } from '../../harness/event-source.ts';
import { type Gateway, startGateway } from '../../harness/gateway.ts';
import type { Owner } from '../../harness/owner.ts';
import { postgres } from '../../harness/postgres.ts';
import { bearer, SECRET, sign } from '../../harness/tokens.ts';
import { CHAT } from './streams/chat.ts';

const FIXTURE = `create table items (id int primary key, name text);
  insert into items values (1, 'planted-row'), (2, 'b');
  create table parts (id int primary key, item int references items);
  create function slow(seconds float8) returns text language sql volatile as $$ select pg_sleep(seconds)::text $$;
  create function wrong() returns int language plpgsql as $$ begin raise 'planted-message'; end $$;
  grant select, insert on items, parts to anon, web_user;`;

/** One statement in the response of the endpoint. */
interface Shown {
  readonly location: string;
  readonly role: string | null;
  readonly calls: number;
  readonly errors: number;
  readonly rows: number;
  readonly total_ms: number;
  readonly mean_ms: number;
  readonly max_ms: number;
  readonly sql: string;
}

interface Report {
  readonly workers: number;
  readonly answered: number;
  readonly calls: number;
  readonly total_ms: number;
  readonly left: { readonly statements: number; readonly calls: number; readonly total_ms: number };
  readonly statements: readonly Shown[];
}

/** A gateway on a database of its own, which has run no statement yet. */
async function start(
  t: Owner,
  { workers = 1, more = '' }: { workers?: number; more?: string } = {},
): Promise<Gateway> {
  const { dsn } = await postgres(FIXTURE);
  return startGateway(t, confOf(dsn, more), { workers });
}

const confOf = (dsn: string, more = ''): string =>
  `server { location = /statements { control_api statements; }
    location / { dbrest_pass ${dsn}; dbrest_anon_role anon; ${more} } }`;

async function reportOf(gw: Gateway, query = ''): Promise<Report> {
  const { status, body } = await gw.fetch(`/statements${query}`);
  expect(status).toBe(200);
  return JSON.parse(body) as Report;
}

const sentJson = (body: object) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

/** Requests with values in every place that takes some. */
const PLANTED: readonly (readonly [path: string, sent?: ReturnType<typeof sentJson>])[] = [
  ['/items?name=eq.planted-a'],
  ['/items?name=in.(planted-b,"planted-c")&limit=7731'],
  ['/items?or=(name.like.*planted-d*,id.gt.7732)&order=id&offset=7733'],
  ['/items?name=not.match.planted-e$&select=id,name'],
  ['/items?id=eq.7734&name=is.null'],
  ['/items?select=id::text&id=lt.7735'],
  ['/items', sentJson({ id: 7736, name: "planted-f' $$planted-g$$" })],
  ['/items?columns=id,name', sentJson([{ id: 7737, name: 'planted-h' }])],
  ['/rpc/slow', sentJson({ seconds: 0.077_38 })],
  ['/rpc/wrong'],
  ['/rpc/batch', sentJson([{ method: 'GET', path: '/items?name=eq.planted-i' }])],
];

test('the statement that took the most time comes first, with its calls, times, rows and role', async (t) => {
  const gw = await start(t);
  for (const name of ['planted-row', 'b', 'none']) await gw.fetch(`/items?name=eq.${name}`);
  const called = await gw.fetch('/rpc/slow', sentJson({ seconds: 1.5 }));
  expect(called.status).toBe(200);
  const { statements, left, ...report } = await reportOf(gw);
  expect(report).toMatchObject({ status: 'ok', workers: 1, answered: 1, calls: 4 });
  expect(left).toEqual({ statements: 0, calls: 0, total_ms: 0 });
  const [first, second] = statements;
  expect(first).toMatchObject({ location: '/', role: 'anon', calls: 1, errors: 0, rows: 1 });
  expect(first?.sql).toMatch(/"slow"\(.*\$1/);
  expect(first?.max_ms).toBeGreaterThanOrEqual(1_500);
  expect(second).toMatchObject({ role: 'anon', calls: 3, errors: 0, rows: 2 });
  expect(second?.sql).toMatch(/"items".*\$1/);
  expect(second?.total_ms).toBeGreaterThan(0);
  expect(await reportOf(gw, '?limit=1')).toMatchObject({ calls: 4, statements: [first] });
});

test('no value of a request is shown', async (t) => {
  const gw = await start(t, { more: 'dbrest_batch on;' });
  for (const [path, sent] of PLANTED) await gw.fetch(path, sent);
  const { body } = await gw.fetch('/statements?limit=1000');
  const { statements } = JSON.parse(body) as Report;
  expect(statements.length).toBeGreaterThanOrEqual(PLANTED.length - 1);
  expect(statements.map(({ sql }) => sql)).toContain('batch');
  expect(body).not.toMatch(/planted|773\d|07738/);
});

test('several roles that run a statement are no role, and failures count as calls', async (t) => {
  const gw = await start(t, { more: `dbrest_jwt_secret "${SECRET}";` });
  const headers = bearer(sign({ role: 'web_user' }));
  for (const sent of [{}, { headers }]) expect((await gw.fetch('/items?id=eq.1', sent)).status).toBe(200);
  expect((await gw.fetch('/rpc/wrong', { ...sentJson({}), headers })).status).toBe(400);
  const { statements } = await reportOf(gw);
  const of = (name: string) => statements.find(({ sql }) => sql.includes(`"${name}"`));
  expect(of('items')).toMatchObject({ role: null, calls: 2, errors: 0, rows: 2 });
  expect(of('wrong')).toMatchObject({ role: 'web_user', calls: 1, errors: 1, rows: 0 });
});

test('the reads of a stream are counted as they happen', async (t) => {
  const { dsn, query } = await postgres(CHAT);
  const gw = await startGateway(t, confOf(dsn, 'dbrest_live on;'));
  const stream = await openEvents(t, `${gw.url}/messages?select=id,text`);
  await stream.until(1);
  const { statements: first } = await reportOf(gw);
  expect(first).toMatchObject([{ role: 'anon', calls: 1, errors: 0, rows: 2 }]);
  await query(`insert into messages values (10, 1, 'planted')`);
  await stream.until(2);
  const { statements } = await reportOf(gw);
  const again = statements.find(({ sql }) => sql.includes('jsonb_to_recordset'));
  expect(again).toMatchObject({ role: 'anon', calls: 1, rows: 1 });
});

test('a statement that runs into its time counts with this time', async (t) => {
  const gw = await start(t, { more: 'dbrest_timeout 200ms;' });
  expect((await gw.fetch('/rpc/slow', sentJson({ seconds: 60 }))).status).toBe(500);
  const { statements } = await reportOf(gw);
  expect(statements).toMatchObject([{ calls: 1, errors: 1 }]);
  expect(statements[0]?.max_ms).toBeGreaterThanOrEqual(200);
});

/** Names of columns that make so many different statements. */
const flood = async (gw: Gateway, count: number): Promise<void> => {
  const ask = async (n: number): Promise<void> => {
    await gw.fetch(`/items?select=a${n}:name&id=eq.1`);
  };
  for (let n = 0; n < count; n += 20) await Promise.all(Array.from({ length: 20 }, (_, i) => ask(n + i)));
};

test('a flood of different statements neither grows the list nor displaces what took the most time', async (t) => {
  const gw = await start(t);
  await gw.fetch('/rpc/slow', sentJson({ seconds: 1.5 }));
  await flood(gw, 1_000);
  const { statements, left, calls, total_ms: totalMs } = await reportOf(gw, '?limit=1000');
  expect(statements).toHaveLength(200);
  expect(statements[0]?.sql).toContain('"slow"');
  expect(calls).toBe(1_001);
  expect(left).toMatchObject({ statements: 801, calls: 801 });
  const shownMs = statements.reduce((sum, one) => sum + one.total_ms, left.total_ms);
  expect(Math.abs(shownMs - totalMs)).toBeLessThan(1);
});

test('the statements of several workers are added up', async (t) => {
  const gw = await start(t, { workers: 3 });
  // Each request opens a new connection, which the kernel gives to any worker.
  const requests = Array.from({ length: 60 }, () => gw.fetch('/items?id=eq.1'));
  for (const { status } of await Promise.all(requests)) expect(status).toBe(200);
  const reports = await Promise.all(Array.from({ length: 12 }, () => reportOf(gw)));
  for (const { statements, ...report } of reports) {
    expect(report).toMatchObject({ workers: 3, answered: 3, calls: 60 });
    expect(statements).toMatchObject([{ calls: 60, rows: 60 }]);
  }
});

test('the counts outlive a reload', async (t) => {
  const { dsn } = await postgres(FIXTURE);
  const gw = await startGateway(t, confOf(dsn));
  await gw.fetch('/items?id=eq.1');
  expect(await gw.reload(confOf(dsn, 'dbrest_pool_size 5;'))).toBe('done');
  await gw.fetch('/items?id=eq.1');
  expect((await reportOf(gw)).statements).toMatchObject([{ calls: 2 }]);
});
