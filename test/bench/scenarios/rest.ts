import type { Bench } from '../bench.ts';
import type { Contender } from '../compare.ts';
import { type Database, startDatabase, statementsOf } from '../database.ts';
import { startFastify } from '../peers/index.ts';
import { pgbench } from '../pgbench.ts';
import type { Goals } from '../row.ts';
import type { Scenario } from '../scenario.ts';
import { startGw } from '../servers.ts';
import { CONNECTIONS, type HttpRequest, httpLoad } from '../target.ts';

export const KEYS = 10_000;
/** The default size of gw's pool; everybody has as many sessions. */
export const SESSIONS = 16;
const PROBE_KEY = 4_711;
/** Requests that are sent in turns, for keys all over the table. */
const TURNS = 1_000;

/** Commits do not wait for the log: how many of them share one write of it depends on chance. */
export const FIXTURE = `
  alter role authenticator set synchronous_commit = off;
  create table items (id int primary key, name text not null, price numeric not null, sold boolean not null);
  insert into items select i, 'item ' || i, i * 0.25, i % 3 = 0 from generate_series(1, ${KEYS * 2}) i;
  create table reviews (id int primary key, item int not null references items, stars int not null, text text not null);
  insert into reviews select i, 1 + i / 5, i % 5, 'review ' || i from generate_series(0, ${KEYS * 5 - 1}) i;
  create index on reviews (item);
  create table orders (
    id bigint generated always as identity primary key, name text not null, price numeric not null, sold boolean not null
  );
  analyze;
  grant select on items, reviews to anon, authenticator;
  grant all on orders to anon, authenticator;`;

/** A request of gw's API and what stands for it in other programs. */
export interface Shape {
  readonly line: string;
  readonly goals: Goals;
  readonly request: (key: number) => HttpRequest;
  /** The same for the service of `fastify-pg.ts`. */
  readonly fastify?: (key: number) => HttpRequest;
  /** A table that is emptied before each round. */
  readonly fills?: string;
}

const ORDER: Omit<HttpRequest, 'path'> = {
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: '{"name":"item 7","price":1.75,"sold":false}',
};

/** Reads and a write with a switch of the role, against the same statements from pgbench. */
export const oneRow = restScenario('rest-row', {
  line: 'REST, one row',
  goals: { goal: 0.8, aim: 1.1 },
  request: (key) => ({ path: `/api/items?id=eq.${key}` }),
  fastify: (key) => ({ path: `/items/${key}` }),
});

export const hundredRows = restScenario('rest-page', {
  line: 'REST, 100 rows',
  goals: { goal: 0.6, aim: 0.75 },
  request: (key) => ({ path: `/api/items?order=id&limit=100&id=gte.${key}` }),
  fastify: (key) => ({ path: `/items?id=${key}` }),
});

export const insertedRow = restScenario('rest-insert', {
  line: 'REST, insert of a row',
  goals: { goal: 0.55, aim: 0.75 },
  request: () => ({ path: '/api/orders', ...ORDER }),
  fastify: () => ({ path: '/orders', ...ORDER }),
  fills: 'orders',
});

export const embedded = restScenario('rest-embed', {
  line: 'REST, 20 rows with 5 embedded in each',
  goals: {},
  request: (key) => ({
    path: `/api/items?select=id,name,reviews(id,stars,text)&order=id&limit=20&id=gte.${key}`,
  }),
});

function restScenario(name: string, shape: Shape): Scenario {
  return { name, open: async (bench) => compareShape(bench, await startDatabase(bench, FIXTURE), shape) };
}

/** gw's response to a shape beside the programs that can do the same; the CPU time of the database counts for all. */
export async function compareShape(bench: Bench, database: Database, shape: Shape) {
  const { line, goals, request, fastify, fills } = shape;
  const dsn = `postgresql://authenticator@${database.host}:${database.port}/postgres`;
  const location = `location /api/ { dbrest_pass ${dsn}; dbrest_pool_size ${SESSIONS}; dbrest_anon_role anon; }`;
  const load = (who: string, server: { port: number; pid: number }, requestOf: Shape['request']) =>
    emptied(
      database,
      fills,
      httpLoad(bench, {
        name: `${who} ${line}`,
        port: server.port,
        requests: requestsOf(requestOf),
        connections: CONNECTIONS,
        servers: [server.pid, database.pid],
      }),
    );
  const { path, ...init } = request(PROBE_KEY);
  const statements = await statementsOf(bench, database, { location, path, init });
  const plan = { database, statements, key: String(PROBE_KEY), keys: KEYS, connections: SESSIONS };
  return {
    subject: load('gw', await startGw(bench, location), request),
    peers: [
      {
        line: `${line} / pgbench, pipelined`,
        ...goals,
        open: async () => emptied(database, fills, await pgbench(bench, plan)),
      },
      ...(fastify === undefined
        ? []
        : [
            {
              line: `${line} / Fastify + pg`,
              note: 'Fastify switches no role',
              open: async () =>
                load('fastify', await startFastify(bench, { dsn, sessions: SESSIONS }), fastify),
            },
          ]),
    ],
  };
}

/** Requests for keys all over the table, or the only one there is. */
function requestsOf(requestOf: Shape['request']): readonly HttpRequest[] {
  if (requestOf(1).path === requestOf(2).path) return [requestOf(1)];
  // The step has no divisor in common with the number of keys.
  return Array.from({ length: TURNS }, (_, turn) => requestOf(1 + ((turn * 7_919) % KEYS)));
}

/** Every round begins with an empty table, if it fills one. */
export function emptied(database: Database, table: string | undefined, contender: Contender): Contender {
  if (table === undefined) return contender;
  return {
    ...contender,
    async round(seconds) {
      await database.query(`truncate ${table}`);
      return contender.round(seconds);
    },
  };
}
