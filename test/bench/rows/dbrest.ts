import { compare } from '../compare.ts';
import { startDatabase, statementsOf } from '../database.ts';
import { httpLoad } from '../load.ts';
import { pgbench } from '../pgbench.ts';
import type { Row } from '../row.ts';
import { startGw } from '../servers.ts';

const KEYS = 10_000;
/** The size of gw's pool by default. */
const CONNECTIONS = 16;
const PROBE_KEY = '4711';

const FIXTURE = `
  create table items (id int primary key, name text not null, price numeric not null, sold boolean not null);
  insert into items select i, 'item ' || i, i * 0.25, i % 3 = 0 from generate_series(1, ${KEYS}) i;
  analyze items;
  grant select on items to anon;`;

/** One row by its key with a switch of the role; the database's CPU time counts for both. */
export const dbrestRow: Row = {
  name: 'dbrest',
  async run(bench) {
    const database = await startDatabase(bench, FIXTURE);
    const dsn = `postgresql://authenticator@${database.host}:${database.port}/postgres`;
    const location = `location /api/ { dbrest_pass ${dsn}; dbrest_pool_size ${CONNECTIONS}; dbrest_anon_role anon; }`;
    const path = '/api/items?id=eq.';
    const statements = await statementsOf(bench, database, { location, path: path + PROBE_KEY });
    const gw = await startGw(bench, location);
    const subject = httpLoad(bench, {
      name: 'gw dbrest',
      port: gw.port,
      script: `request = function() return wrk.format("GET", "${path}" .. math.random(${KEYS})) end`,
      connections: CONNECTIONS,
      servers: [gw.pid, database.pid],
    });
    return compare(bench, subject, [
      {
        line: 'table read by key / pgbench, same statements',
        goal: 0.4,
        open: () =>
          pgbench(bench, { database, statements, key: PROBE_KEY, keys: KEYS, connections: CONNECTIONS }),
      },
    ]);
  },
};
