import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFailed, onTestFinished, test } from 'vitest';
import { type Gateway, startGateway } from '../../harness/gateway.ts';
import type { PoolMode } from '../../harness/own-pgbouncer.ts';
import { pgbouncer, pgbouncerVersion } from '../../harness/pgbouncer.ts';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';
import { perTier } from '../../harness/tier.ts';
import { SECRET, sign } from '../../harness/tokens.ts';

const TABLES = ['ants', 'bees', 'cats'] as const;
/** Rows that are read, and those behind them, each of which is deleted once. */
const READ = 200;
const DELETED = perTier({ short: 1_000, long: 20_000 });
const LANES = 24;
const KILL_EVERY_MS = 150;
/** No request takes that long, on however busy a machine: one that does was forgotten, and says so. */
const FORGOTTEN = 'dbrest_timeout 50s; dbrest_pool_timeout 50s;';

/** `anon` and `web_user` see their own half of each table. Nothing keeps a row from being inserted twice. */
const FIXTURE = TABLES.map(
  (name) => `
    create table ${name} (id int, word text, owner name not null default current_user);
    insert into ${name} select i, '${name} ' || i, case when i % 2 = 0 then 'anon' else 'web_user' end
      from generate_series(1, ${READ + DELETED}) i;
    create index on ${name} (id);
    alter table ${name} enable row level security;
    create policy own on ${name} using (owner = current_user);
    create function first_of_${name}(n int) returns setof ${name} stable language sql as $$ select * from ${name} where id = n $$;
    grant select, insert, delete on ${name} to anon, web_user;`,
).join('');

interface Sent {
  readonly method?: string;
  readonly row?: object;
}

/** The requests of a storm and their results. */
class Storm {
  readonly wrong = new Set<string>();
  /** Rows by table, as `table id`. */
  readonly gone = new Set<string>();
  readonly perhapsGone = new Set<string>();
  readonly perhapsAdded = new Set<string>();
  readonly added = new Set<string>();
  readonly #gw: Gateway;
  #deleted = READ;
  #inserted = 1_000_000;

  constructor(gw: Gateway) {
    this.#gw = gw;
  }

  async turn(n: number): Promise<void> {
    const table = TABLES[n % 3] as string;
    const kind = (n * 7_919) % 10;
    if (kind < 2 && this.#deleted < READ + DELETED) return this.#delete(table, (this.#deleted += 1));
    if (kind < 4) return this.#insert(table, (this.#inserted += 1));
    return this.#read(table, 1 + ((n * 104_729) % READ), n);
  }

  async #read(table: string, id: number, n: number): Promise<void> {
    const filters = [
      '',
      '&word=neq.x',
      '&owner=not.is.null',
      '&order=id',
      '&limit=2',
      '&or=(id.gt.0,word.eq.y)',
    ];
    const path = [`${table}?id=eq.${id}`, `rpc/first_of_${table}?n=${id}`][Math.floor(n / 5) % 2] as string;
    const { status, body } = await this.#ask(`${path}&select=id,word,owner${filters[n % 6]}`, id);
    const right = JSON.stringify([{ id, word: `${table} ${id}`, owner: ownerOf(id) }]);
    if (status !== 503 && body !== right) this.wrong.add(`read of ${table} ${id}: ${status} ${body}`);
  }

  async #delete(table: string, id: number): Promise<void> {
    const { status, body } = await this.#ask(`${table}?id=eq.${id}&select=id,word`, id, { method: 'DELETE' });
    if (status === 503) return void this.perhapsGone.add(`${table} ${id}`);
    this.gone.add(`${table} ${id}`);
    const right = JSON.stringify([{ id, word: `${table} ${id}` }]);
    if (body !== right) this.wrong.add(`delete of ${table} ${id}: ${status} ${body}`);
  }

  async #insert(table: string, id: number): Promise<void> {
    const word = `${table} ${id}`;
    const { status, body } = await this.#ask(`${table}?select=id,word`, id, {
      method: 'POST',
      row: { id, word },
    });
    if (status === 503) return void this.perhapsAdded.add(word);
    this.added.add(word);
    if (body !== JSON.stringify([{ id, word }])) this.wrong.add(`insert of ${word}: ${status} ${body}`);
  }

  async #ask(path: string, id: number, sent: Sent = {}): Promise<{ status: number; body: string }> {
    const { method = 'GET', row } = sent;
    const token = sign({ role: ownerOf(id) });
    const headers = {
      authorization: `Bearer ${token}`,
      prefer: 'return=representation',
      ...(row && { 'content-type': 'application/json' }),
    };
    const body = row && JSON.stringify(row);
    const response = await this.#gw.fetch(`/api/${path}`, {
      method,
      headers,
      ...(body !== undefined && { body }),
    });
    // A session that was ended is noticed at once. Only a request that was lost waits for its deadline.
    if (response.body.includes('in time'))
      this.wrong.add(`${method} ${path}: ${response.status} ${response.body}`);
    return response;
  }
}

const ownerOf = (id: number): string => (id % 2 === 0 ? 'anon' : 'web_user');

/** Runs requests at once, while random sessions of the server are ended; returns the number of these sessions. */
async function rage(storm: Storm, db: TestDatabase): Promise<number> {
  const endMs = performance.now() + perTier({ short: Infinity, long: 60_000 });
  const most = perTier({ short: 1_000, long: Infinity });
  let turns = 0;
  let running = true;
  let killed = 0;
  const killer = (async () => {
    for (; running; await sleep(KILL_EVERY_MS))
      killed += (
        await db.query(`select pg_terminate_backend(pid) from (select pid from pg_stat_activity
          where datname = current_database() and usename = 'authenticator' order by random() limit 1) s`)
      ).length;
  })();
  const lane = async (): Promise<void> => {
    while (turns < most && performance.now() < endMs) await storm.turn((turns += 1));
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  running = false;
  await killer;
  return killed;
}

/** A row whose write had no known result may exist or not. All others are as they were, or as their write reported. */
async function compareRows(storm: Storm, db: TestDatabase): Promise<void> {
  for (const table of TABLES) {
    const rows = await db.query<{ id: number; n: number }>(
      `select id, count(*)::int as n from ${table} group by id`,
    );
    const left = new Map(rows.map(({ id, n }) => [`${table} ${id}`, n]));
    for (const [row, n] of left) {
      if (n > 1 || storm.gone.has(row)) storm.wrong.add(`${row} is there ${n} times`);
      const isOld = Number(row.split(' ')[1]) <= READ + DELETED;
      if (!isOld && !storm.added.has(row) && !storm.perhapsAdded.has(row))
        storm.wrong.add(`${row} was inserted and nobody asked for it`);
    }
    for (let id = 1; id <= READ + DELETED; id += 1) {
      const row = `${table} ${id}`;
      if (!left.has(row) && !storm.gone.has(row) && !storm.perhapsGone.has(row))
        storm.wrong.add(`${row} was deleted and nobody asked for it`);
    }
    for (const row of storm.added)
      if (row.startsWith(`${table} `) && !left.has(row)) storm.wrong.add(`${row} was not inserted`);
  }
}

const cases: { mode: PoolMode; statements: string; settings?: string[]; since?: number }[] = [
  { mode: 'transaction', statements: 'auto' },
  { mode: 'session', statements: 'auto' },
  { mode: 'statement', statements: 'auto' },
  { mode: 'transaction', statements: 'on' },
  { mode: 'transaction', statements: 'on', settings: ['max_prepared_statements = 50'], since: 1.21 },
];
test.for(cases)(
  'requests get their own rows in $mode mode, with statements $statements, $settings',
  { timeout: 180_000 },
  async ({ mode, statements, settings = [], since = 0 }, context) => {
    if ((await pgbouncerVersion()) < since) return context.skip(`PgBouncer ${since} has brought the setting`);
    const t = { onTestFinished, onTestFailed };
    const db = await postgres(FIXTURE);
    const pooler = await pgbouncer(t, db, { mode, settings });
    const gw = await startGateway(
      t,
      `dbrest_anon_role anon; dbrest_jwt_secret "${SECRET}"; ${FORGOTTEN} dbrest_pool_size 12;
       dbrest_prepared_statements ${statements};
       server { location /api/ { dbrest_pass ${pooler.dsn}; } }`,
    );
    await gw.expect('GET /api/ants?limit=0', { status: 200 });
    const storm = new Storm(gw);
    const killed = await rage(storm, db);
    await compareRows(storm, db);
    expect([...storm.wrong]).toEqual([]);
    expect(killed).toBeGreaterThan(0);
  },
);
