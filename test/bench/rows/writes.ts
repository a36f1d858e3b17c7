import type { Bench } from '../bench.ts';
import { compare, type Contender } from '../compare.ts';
import { type Database, startDatabase, statementsOf } from '../database.ts';
import { httpLoad } from '../load.ts';
import { pgbench } from '../pgbench.ts';
import { psql } from '../psql.ts';
import type { Finding, Row } from '../row.ts';
import { startGw } from '../servers.ts';

const CONNECTIONS = 16;
const BULK_ROWS = 10_000;
const BULK_CONNECTIONS = 2;
const PATH = '/api/items';

/** Commits do not wait for the log: how many of them share one write of it depends on chance. */
const FIXTURE = `
  alter role authenticator set synchronous_commit = off;
  create table items (
    id bigint generated always as identity primary key, name text not null, price numeric not null, sold boolean not null
  );
  grant all on items to anon;`;

const row = (i: number): string => `{"name":"item ${i}","price":${i / 4},"sold":${i % 3 === 0}}`;
const ONE = row(7);
const MANY = `[${Array.from({ length: BULK_ROWS }, (_, i) => row(i)).join(',')}]`;

/** Inserts with a switch of the role, against the same statements sent by PostgreSQL's own programs. */
export const writesRow: Row = {
  name: 'writes',
  async run(bench) {
    const database = await startDatabase(bench, FIXTURE);
    const one = await inserts(bench, database, { body: ONE, connections: CONNECTIONS });
    const many = await inserts(bench, database, { body: MANY, connections: BULK_CONNECTIONS });
    const statements = { key: 'none', keys: 1, connections: CONNECTIONS };
    const findings: Finding[] = await compare(bench, one.subject, [
      {
        line: 'insert of a row / pgbench, same statements',
        goal: 0.45,
        open: async () =>
          emptied(database, await pgbench(bench, { database, statements: one.statements, ...statements })),
      },
    ]);
    const bulk = await compare(bench, many.subject, [
      {
        line: `insert of ${BULK_ROWS} rows / psql, same statements`,
        goal: 0.6,
        open: async () => emptied(database, await psql(bench, { database, statements: many.statements })),
      },
    ]);
    return [...findings, ...bulk];
  },
};

async function inserts(
  bench: Bench,
  database: Database,
  { body, connections }: { body: string; connections: number },
) {
  const dsn = `postgresql://authenticator@${database.host}:${database.port}/postgres`;
  const location = `location /api/ { dbrest_pass ${dsn}; dbrest_pool_size ${CONNECTIONS}; dbrest_anon_role anon; }`;
  const headers = { 'content-type': 'application/json' };
  const statements = await statementsOf(bench, database, {
    location,
    path: PATH,
    init: { method: 'POST', body, headers },
  });
  const gw = await startGw(bench, location);
  const script = `wrk.method = "POST"
    wrk.path = "${PATH}"
    wrk.headers["Content-Type"] = "application/json"
    wrk.body = [==[${body}]==]`;
  const subject = httpLoad(bench, {
    name: `gw ${body.length} bytes`,
    port: gw.port,
    script,
    connections,
    servers: [gw.pid, database.pid],
  });
  return { subject: emptied(database, subject), statements };
}

/** Every round begins with an empty table. */
function emptied(database: Database, { name, round }: Contender): Contender {
  return {
    name,
    async round(seconds) {
      await database.query('truncate items');
      return round(seconds);
    },
  };
}
