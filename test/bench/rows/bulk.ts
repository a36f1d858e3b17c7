import { compare } from '../compare.ts';
import { startDatabase, statementsOf } from '../database.ts';
import { psql } from '../psql.ts';
import type { Row } from '../row.ts';
import { emptied, FIXTURE } from '../scenarios/rest.ts';
import { startGw } from '../servers.ts';
import { httpLoad } from '../target.ts';

const ROWS = 10_000;
const CONNECTIONS = 2;

const row = (i: number): string => `{"name":"item ${i}","price":${i / 4},"sold":${i % 3 === 0}}`;
const REQUEST = {
  method: 'POST',
  path: '/api/orders',
  headers: { 'Content-Type': 'application/json' },
  body: `[${Array.from({ length: ROWS }, (_, i) => row(i)).join(',')}]`,
};

/** An insert of many rows with a switch of the role, against the same statements sent by psql. */
export const bulkRow: Row = {
  name: 'bulk',
  async run(bench) {
    const database = await startDatabase(bench, FIXTURE);
    const dsn = `postgresql://authenticator@${database.host}:${database.port}/postgres`;
    const location = `location /api/ { dbrest_pass ${dsn}; dbrest_anon_role anon; }`;
    const { path, ...init } = REQUEST;
    const statements = await statementsOf(bench, database, { location, path, init });
    const gw = await startGw(bench, location);
    const subject = httpLoad(bench, {
      name: 'gw bulk',
      port: gw.port,
      requests: [REQUEST],
      connections: CONNECTIONS,
      servers: [gw.pid, database.pid],
    });
    return compare(bench, {
      subject: emptied(database, 'orders', subject),
      peers: [
        {
          line: `insert of ${ROWS} rows / psql, same statements`,
          goal: 0.6,
          open: async () => emptied(database, 'orders', await psql(bench, { database, statements })),
        },
      ],
    });
  },
};
