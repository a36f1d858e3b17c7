import type { Bench } from '../bench.ts';
import { compare } from '../compare.ts';
import { type Database, startDatabase, statementsOf } from '../database.ts';
import { httpLoad } from '../load.ts';
import { pgbench } from '../pgbench.ts';
import type { Finding, Row } from '../row.ts';
import { startGw } from '../servers.ts';

const KEYS = 10_000;
/** The default size of gw's pool. */
const CONNECTIONS = 16;
const PROBE_KEY = '4711';
/** Enough rows for a page follow every key that is requested. */
const PAGES = KEYS - 100;

const FIXTURE = `
  create table items (id int primary key, name text not null, price numeric not null, sold boolean not null);
  insert into items select i, 'item ' || i, i * 0.25, i % 3 = 0 from generate_series(1, ${KEYS}) i;
  create table reviews (id int primary key, item int not null references items, stars int not null, text text not null);
  insert into reviews select i, 1 + i / 5, i % 5, 'review ' || i from generate_series(0, ${KEYS * 5 - 1}) i;
  create index on reviews (item);
  analyze;
  grant select on items, reviews to anon;`;

interface Shape {
  readonly line: string;
  readonly goal: number;
  /** The key follows. */
  readonly path: string;
  readonly keys: number;
}

const SHAPES: readonly Shape[] = [
  { line: 'table read by key', goal: 0.45, path: '/api/items?id=eq.', keys: KEYS },
  { line: 'page of 100 rows', goal: 0.45, path: '/api/items?order=id&limit=100&id=gte.', keys: PAGES },
  {
    line: '20 rows with 5 embedded in each',
    goal: 0.6,
    path: '/api/items?select=id,name,reviews(id,stars,text)&order=id&limit=20&id=gte.',
    keys: PAGES,
  },
];

/** Reads with a switch of the role, against the same statements from pgbench; the database's CPU time counts for both. */
export const dbrestRow: Row = {
  name: 'dbrest',
  async run(bench) {
    const database = await startDatabase(bench, FIXTURE);
    const findings: Finding[] = [];
    for (const shape of SHAPES) findings.push(...(await compareShape(bench, database, shape)));
    return findings;
  },
};

async function compareShape(bench: Bench, database: Database, shape: Shape): Promise<Finding[]> {
  const { line, goal, path, keys } = shape;
  const dsn = `postgresql://authenticator@${database.host}:${database.port}/postgres`;
  const location = `location /api/ { dbrest_pass ${dsn}; dbrest_pool_size ${CONNECTIONS}; dbrest_anon_role anon; }`;
  const statements = await statementsOf(bench, database, { location, path: path + PROBE_KEY });
  const gw = await startGw(bench, location);
  const subject = httpLoad(bench, {
    name: `gw ${line}`,
    port: gw.port,
    script: `request = function() return wrk.format("GET", "${path}" .. math.random(${keys})) end`,
    connections: CONNECTIONS,
    servers: [gw.pid, database.pid],
  });
  return compare(bench, subject, [
    {
      line: `${line} / pgbench, same statements`,
      goal,
      open: () => pgbench(bench, { database, statements, key: PROBE_KEY, keys, connections: CONNECTIONS }),
    },
  ]);
}
