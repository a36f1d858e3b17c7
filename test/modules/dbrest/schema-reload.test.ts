import { expect, onTestFinished, test, vi } from 'vitest';
import { type Gateway, oneGateway } from '../../harness/gateway.ts';
import type { Owner } from '../../harness/owner.ts';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';

/** Each test has a database of its own. */
const load = oneGateway({ workers: 2 });

const FIXTURE = `
  create table items (id int generated always as identity primary key, word text not null);
  grant select, insert on items to anon;
`;
const conf = (db: TestDatabase): string =>
  `dbrest_anon_role anon; error_log error.log info; server { location /api/ { dbrest_pass ${db.dsn}; dbrest_timeout 30s; } }`;

/** The description of the table, which changes only with a new schema. */
async function comment(gw: Gateway): Promise<string | undefined> {
  const { body } = await gw.expect('GET /api/', { status: 200 });
  const { components } = JSON.parse(body) as { components: { schemas: { items: { description?: string } } } };
  return components.schemas.items.description;
}

/** Resolves when 16 responses in a row have the comment. Any worker may send one, so all have the schema then. */
async function untilAllHave(gw: Gateway, expected: string): Promise<void> {
  await vi.waitFor(
    async () => {
      for (let i = 0; i < 16; i += 1) expect(await comment(gw)).toBe(expected);
    },
    { timeout: 15_000 },
  );
}

const listeners = (db: TestDatabase): Promise<{ pid: number }[]> =>
  db.query(`select pid from pg_stat_activity where datname = current_database() and query like 'listen %'`);

async function start(t: Owner): Promise<{ db: TestDatabase; gw: Gateway }> {
  const db = await postgres(FIXTURE);
  const gw = await load(t, conf(db));
  await vi.waitFor(async () => expect(await listeners(db)).toHaveLength(1));
  for (let i = 0; i < 8; i += 1) await gw.expect('GET /api/items', { status: 200 });
  return { db, gw };
}

test.each([
  ['pgrst', `'reload schema'`],
  ['gw', `'reload schema'`],
  ['pgrst', `''`],
])('NOTIFY %s, %s makes every worker read the schema again', async (channel, payload) => {
  const { db, gw } = await start({ onTestFinished });
  await db.query(`comment on table items is 'changed'; notify ${channel}, ${payload}`);
  await untilAllHave(gw, 'changed');
  expect(await listeners(db)).toHaveLength(1);
});

test('"reload config" does not reload a gateway whose configuration is a file', async (t) => {
  const { db, gw } = await start(t);
  await db.query(`comment on table items is 'changed'; notify pgrst, 'reload config'`);
  await gw.waitForLog(/"reload config" from ".*" is ignored/);
  expect(gw.errorLog()).not.toContain('is read again');
});

test('changes that were announced without a listener are read later', async (t) => {
  const { db, gw } = await start(t);
  await db.query(`comment on table items is 'missed'`);
  const [first] = await listeners(db);
  await db.query(`select pg_terminate_backend(${first?.pid})`);
  await untilAllHave(gw, 'missed');
  await db.query(`comment on table items is 'heard'; notify pgrst, 'reload schema'`);
  await untilAllHave(gw, 'heard');
  expect(await listeners(db)).toHaveLength(1);
});

test('a reload of the configuration reads the schema again', async (t) => {
  const { db, gw } = await start(t);
  await db.query(`comment on table items is 'reloaded'`);
  expect(await gw.reload(conf(db))).toBe('done');
  await untilAllHave(gw, 'reloaded');
  expect(await listeners(db)).toHaveLength(1);
});

test('changes of the schema under load lose no write, and repeat none', async (t) => {
  const { db, gw } = await start(t);
  let isOver = false;
  const failures: string[] = [];
  const sent: string[] = [];
  const insert = async (client: number): Promise<void> => {
    for (let i = 0; !isOver; i += 1) {
      const word = `${client}-${i}`;
      const headers = { 'content-type': 'application/json', prefer: 'return=representation' };
      const query = i % 2 === 0 ? '' : '?select=id,word';
      const init = { method: 'POST', headers, body: JSON.stringify([{ word }]) };
      const { status, body } = await gw.fetch(`/api/items${query}`, init);
      sent.push(word);
      if (status !== 201) failures.push(`${word}: ${status} ${body}`);
    }
  };
  const clients = Promise.all(Array.from({ length: 6 }, (_, i) => insert(i)));
  const ddl = ['add c0 int default 1', 'alter c0 type text', 'rename c0 to c1', 'drop c1'];
  for (const sql of [...ddl, ...ddl, ...ddl]) {
    await db.query(`alter table items ${sql}`);
    const count = sent.length;
    await vi.waitFor(() => expect(sent.length).toBeGreaterThan(count + 10), { timeout: 15_000 });
  }
  isOver = true;
  await clients;
  expect(failures).toEqual([]);
  const rows = await db.query<{ word: string }>('select word from items');
  expect(rows.map(({ word }) => word).sort()).toEqual([...sent].sort());
});
