import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';
import { type Direct, direct } from './direct.ts';

const FIXTURE = `
  create table items (id int primary key);
  insert into items values (1);
  create view numbers as select i as id, repeat('x', 100) as pad from generate_series(1, 5000) i;
  create view many as select i as id, repeat('y', 100) as pad from generate_series(1, 100000) i;
  create view breaks as select id, pad, 1 / (99999 - id) as x from many;
  grant select on all tables in schema public to anon;
`;

let db: TestDatabase;
beforeAll(async () => {
  db = await postgres(FIXTURE);
});

const location = (config: Parameters<typeof direct>[2] = {}): Promise<Direct> =>
  direct({ onTestFinished }, db.dsn, config);

test.each([
  [
    'application/json',
    (rows: number[]) => `[${rows.map((id) => `{"id":${id},"pad":"${'x'.repeat(100)}"}`).join(', \n ')}]`,
  ],
  ['text/csv', (rows: number[]) => `id,pad\n${rows.map((id) => `${id},${'x'.repeat(100)}`).join('\n')}`],
])('a large response of %s comes in pieces, and is whole', async (accept, expected) => {
  const rows = Array.from({ length: 5_000 }, (_, i) => i + 1);
  const headers = { accept, prefer: 'count=exact' };
  const response = await (await location()).get('/api/numbers?select=id,pad&order=id', headers);
  expect(response).toMatchObject({
    status: 200,
    streamed: true,
    headers: { 'content-range': '0-4999/5000' },
  });
  expect(response.body).toBe(expected(rows));
});

test('a connection is usable after a large response', async () => {
  const api = await location({ poolSize: 1 });
  await Promise.all(
    Array.from({ length: 20 }, async (_, i) => {
      const { body } = await api.get(
        i % 2 === 0 ? '/api/numbers?order=id' : '/api/numbers?select=id&id=eq.7',
      );
      expect(JSON.parse(body)).toHaveLength(i % 2 === 0 ? 5_000 : 1);
    }),
  );
});

test('a large response is cut short and logged when a late row fails', async () => {
  const api = await location();
  const { x, done } = api.start('GET /api/breaks');
  await done;
  expect(x.cut).toBe(true);
  expect(api.log).toContain('[error] dbrest: 22012 division by zero');
});

test('a large response is cut short when its connection is lost', async () => {
  const api = await location({ poolSize: 1 });
  const { x, done } = api.start('GET /api/many?order=id');
  const pieces = x.holdStream();
  await pieces.started;
  await db.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'gw'`,
  );
  pieces.release();
  await done;
  expect(x.cut).toBe(true);
  expect((await api.get('/api/items?select=id&id=eq.1')).body).toBe('[{"id":1}]');
});

test('a large response is not read on while its client does not read', async () => {
  const api = await location({ poolSize: 1 });
  const { x, done } = api.start('GET /api/many?order=id');
  const pieces = x.holdStream();
  await pieces.started;
  const waiting = `select wait_event from pg_stat_activity where datname = current_database() and application_name = 'gw' and wait_event = 'ClientWrite'`;
  while ((await db.query(waiting)).length === 0) await sleep(5);
  expect(pieces.bytes()).toBeLessThan(4_000_000);
  pieces.release();
  await done;
  expect(JSON.parse(x.sent?.body ?? '')).toHaveLength(100_000);
});

test('a client that does not read loses its connection to a waiting request, and its response is cut short', async () => {
  const api = await location({ poolSize: 1 });
  const { x, done } = api.start('GET /api/many?order=id');
  const pieces = x.holdStream();
  await pieces.started;
  expect((await api.get('/api/items?select=id&id=eq.1')).body).toBe('[{"id":1}]');
  await done;
  expect(x.cut).toBe(true);
  expect(api.log.join()).toContain('the client does not read its response, and others wait for a connection');
});

test('a client that does not read in time is cut off', async () => {
  const api = await location({ poolSize: 1, timeoutMs: 1_500 });
  const { x, done } = api.start('GET /api/many?order=id');
  x.holdStream();
  await done;
  expect(x.cut).toBe(true);
  expect(api.log.join()).toContain('the client did not read the response in time');
});

test('a large response is cancelled when its client leaves, and its connection stays in use', async () => {
  const api = await location({ poolSize: 1 });
  const { x, done } = api.start('GET /api/many?order=id');
  const pieces = x.holdStream();
  await pieces.started;
  x.leave();
  pieces.release();
  await done;
  expect((await api.get('/api/items?select=id&id=eq.1')).body).toBe('[{"id":1}]');
});

test('HEAD of a large response reads few rows and counts all', async () => {
  const { x, done } = (await location()).start('HEAD /api/many', { prefer: 'count=exact' });
  await done;
  expect(x.sent).toMatchObject({
    status: 200,
    body: '',
    streamed: true,
    headers: { 'content-range': '0-99999/100000' },
  });
});
