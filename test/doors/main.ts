import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Bench, QUICK } from '../bench/bench.ts';
import { startDatabase } from '../bench/database.ts';
import { ownDir, startGw, startRedis, startServer, writeGwConf, GW } from '../bench/servers.ts';
import { call, type CallInit } from '../harness/http.ts';
import { freePort } from '../harness/ports.ts';
import { Coverage } from './coverage.ts';

// Counts the files whose functions run for one request (`npm run doors`): what a maintainer has to open to follow it.
// `npm run doors -- list` names them. What also runs without a request is taken away.

interface Way {
  readonly name: string;
  /** The nth request on this way. */
  readonly request: (nth: number) => { readonly path: string; readonly init?: CallInit };
}

const WAYS: readonly Way[] = [
  { name: '`return 200`', request: () => ({ path: '/return' }) },
  { name: 'kv get', request: () => ({ path: '/kv/key' }) },
  {
    name: 'publish',
    request: () => ({
      path: '/events',
      init: { method: 'POST', body: '{"type":"tick"}', headers: { 'content-type': 'application/json' } },
    }),
  },
  { name: 'static file', request: () => ({ path: '/files/page.html' }) },
  { name: 'proxied request', request: () => ({ path: '/proxy/' }) },
  { name: 'row by key, plan warm', request: () => ({ path: '/api/items?id=eq.1' }) },
  { name: 'row by key, new shape', request: (nth) => ({ path: `/api/items?select=a${nth}:id&id=eq.1` }) },
];

const WARM_UP = 30;
const IDLE_MS = 3_000;

async function main(lists: boolean): Promise<void> {
  const bench = new Bench(QUICK);
  try {
    const { coverage, port, reload } = await startCounted(bench);
    const rows: (readonly [name: string, files: readonly string[]])[] = [];
    for (const way of WAYS) rows.push([way.name, await doorsOf(way, coverage, port)]);
    await coverage.take(anyThread);
    await reload();
    rows.push(['reload (master + worker)', [...(await coverage.take(anyThread))].sort()]);
    console.log('| way | files |\n| --- | ---: |');
    for (const [name, files] of rows) {
      console.log(`| ${name} | ${files.length} |`);
      if (lists) console.log(files.map((file) => `    ${file}\n`).join(''));
    }
  } finally {
    await bench.close();
  }
}

const anyThread = (): boolean => true;
/** The one worker serves in a thread of the master. */
const worker = ({ isMain }: { readonly isMain: boolean }): boolean => !isMain;

/** The files that one request enters when its way is warm, without those that an idle gateway enters. */
async function doorsOf({ name, request }: Way, coverage: Coverage, port: number): Promise<readonly string[]> {
  const send = async (nth: number): Promise<void> => {
    const { path, init } = request(nth);
    const { status, body } = await call(port, path, init);
    if (status >= 300) throw new Error(`${name}: the gateway responds with ${status}: ${body}`);
  };
  for (let nth = 0; nth < WARM_UP; nth++) await send(nth);
  await sleep(IDLE_MS);
  await coverage.take(worker);
  await sleep(IDLE_MS);
  const idle = await coverage.take(worker);
  await send(WARM_UP);
  await sleep(100);
  const entered = await coverage.take(worker);
  return [...entered].filter((file) => !idle.has(file)).sort();
}

interface Counted {
  readonly coverage: Coverage;
  readonly port: number;
  readonly reload: () => Promise<void>;
}

/** A gateway with all ways, whose threads count. */
async function startCounted(bench: Bench): Promise<Counted> {
  const redis = await startRedis(bench);
  const database = await startDatabase(
    bench,
    'create table items (id int primary key, name text); grant select on items to anon;',
  );
  const upstream = await startGw(bench, 'location / { return 200 "upstream"; }');
  const port = await freePort();
  const dir = ownDir(bench, 'doors');
  writeFileSync(join(dir, 'page.html'), 'page\n');
  const server = `
    location /return { return 200; }
    location /kv/ { kv_pass 127.0.0.1:${redis.port}; kv_key $uri; }
    location /events { worker_events_api; worker_events_zone ring; worker_events_channel all; }
    location /files/ { alias ${dir}/; }
    location /proxy/ { proxy_pass http://127.0.0.1:${upstream.port}; }
    location /api/ {
      dbrest_pass postgresql://authenticator@${database.host}:${database.port}/postgres;
      dbrest_anon_role anon;
    }`;
  const conf = writeGwConf(dir, { server, port, workers: 1 });
  const coverage = new Coverage(join(dir, 'coverage'));
  const command = [process.execPath, GW, '-p', dir, '-c', conf] as const;
  const { pid } = await startServer(bench, { command, dir, port, env: { ...process.env, ...coverage.env } });
  await call(port, '/kv/key');
  const reload = async (): Promise<void> => {
    process.kill(pid, 'SIGHUP');
    await sleep(IDLE_MS);
  };
  return { coverage, port, reload };
}

await main(process.argv.includes('list'));
