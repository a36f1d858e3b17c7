import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench } from '../bench.ts';
import { type Database, startDatabase } from '../database.ts';
import { type Row, sizeLine } from '../row.ts';
import { startGw } from '../servers.ts';
import { median } from '../statistics.ts';

const TABLES = 1_000;
const COLUMNS = 12;
const VIEWS = 150;
const LOAD_GOAL_SECONDS = 2;
const STALL_GOAL_MS = 10;

/** The time for reading the schema before the first response, and its effect on other requests meanwhile. */
export const schemaRow: Row = {
  name: 'schema',
  async run(bench) {
    const database = await startDatabase(bench, fixture());
    const loads: Load[] = [];
    for (let start = 0; start < bench.starts; start++) loads.push(await loadOnce(bench, database));
    const seconds = loads.map(({ loadMs }) => loadMs / 1_000);
    const stalls = loads.map(({ stallMs }) => stallMs);
    const quiet = median(loads.map(({ quietMs }) => quietMs));
    return [
      sizeLine({
        subject: `schema of ${TABLES} tables and ${VIEWS} views, to the first response`,
        values: seconds,
        unit: 's',
        goal: LOAD_GOAL_SECONDS,
        details: { loads },
      }),
      sizeLine({
        subject: 'longest wait of another request meanwhile',
        values: stalls,
        unit: 'ms',
        goal: STALL_GOAL_MS,
        note: `as long before: ${quiet.toFixed(1)} ms`,
      }),
    ];
  },
};

interface Load {
  readonly loadMs: number;
  /** Longest time of a request that has nothing to do with the database, while the schema loads. */
  readonly stallMs: number;
  /** The same in an equally long time before. */
  readonly quietMs: number;
}

/** One worker serves a stream of light requests, one after the other, while it loads the schema for the first time. */
async function loadOnce(bench: Bench, { host, port }: Database): Promise<Load> {
  const dsn = `postgresql://authenticator@${host}:${port}/postgres`;
  const gw = await startGw(
    bench,
    `location / { return 200 ok; } location /api/ { dbrest_pass ${dsn}; dbrest_anon_role anon; }`,
  );
  const light = new Agent({ keepAlive: true, maxSockets: 1 });
  const timesMs: number[] = [];
  let running = true;
  const stream = (async () => {
    while (running) timesMs.push(await timed({ port: gw.port, path: '/', agent: light }));
  })();
  const longest = (): number => Math.max(...timesMs.splice(0));
  // The code is compiled by now.
  await sleep(1_000);
  longest();
  await sleep(300);
  const quietMs = longest();
  const loadMs = await timed({ port: gw.port, path: '/api/t1?limit=1' });
  const stallMs = longest();
  running = false;
  await stream;
  light.destroy();
  return { loadMs, stallMs, quietMs };
}

/** Milliseconds until the complete response has arrived. */
function timed(target: { port: number; path: string; agent?: Agent }): Promise<number> {
  const startMs = performance.now();
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', ...target }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${target.path}: ${response.statusCode}`));
      response.resume().on('end', () => resolve(performance.now() - startMs));
    });
    sent.on('error', reject).end();
  });
}

function fixture(): string {
  const types = ['int', 'text', 'numeric(10,2)', 'timestamptz', 'varchar(40)', 'boolean', 'jsonb'];
  const columns = Array.from({ length: COLUMNS }, (_, i) => `c${i} ${types[i % types.length]}`).join(', ');
  const tables = Array.from({ length: TABLES }, (_, i) => {
    const parents =
      i < 4 ? '' : `, parent int references t${Math.trunc(i / 3)}, kind int references t${i % 4}`;
    return `create table t${i} (id int primary key, name text not null${parents}, ${columns});`;
  });
  const views = Array.from({ length: VIEWS }, (_, i) => {
    const [a, b, c] = [i + 4, i + 5, i + 6];
    return `create view v${i} as select a.*, b.name as b_name, (select count(*) from t${b} x where x.parent = a.id) as n
      from t${a} a left join t${b} b on b.id = a.parent left join t${c} c on c.id = b.kind;`;
  });
  return [...tables, ...views, 'grant select on all tables in schema public to anon;'].join('\n');
}
