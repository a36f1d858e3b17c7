import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { call } from '../harness/http.ts';
import { launch } from '../harness/launch.ts';
import { freePort } from '../harness/ports.ts';
import type { Bench } from './bench.ts';
import { programPath } from './programs.ts';

export interface Server {
  readonly port: number;
  readonly pid: number;
}

/** The built program; `npm run bench` builds it and runs this file, bundled, in the root of the repository. */
export const GW = resolve('dist/bin/gw.js');

/** The content of the one server, and what stands in `http` beside it. */
export type Content = string | { readonly http: string; readonly server: string };

/** A gateway with one server of this content and one worker, unless told otherwise. */
export async function startGw(bench: Bench, content: Content, workers = 1): Promise<Server> {
  if (!existsSync(GW))
    throw new Error(`"${GW}" is missing: run "npm run bench" in the root of the repository`);
  const port = await freePort();
  const dir = ownDir(bench, `gw-${port}`);
  const conf = writeGwConf(dir, { ...partsOf(content), port, workers });
  const profiling =
    bench.profileDir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${resolve(bench.profileDir)}`];
  return start(bench, { command: [process.execPath, ...profiling, GW, '-p', dir, '-c', conf], dir, port });
}

/** Writes a gateway's configuration and gives its path. */
export function writeGwConf(
  dir: string,
  parts: { http?: string; server: string; port: number; workers: number },
): string {
  const conf = join(dir, 'gw.conf');
  writeFileSync(
    conf,
    `daemon off; worker_processes ${parts.workers}; pid ${dir}/gw.pid; error_log ${dir}/error.log;
     events {}
     http {
       access_log off;
       keepalive_requests 1000000000;
       ${parts.http ?? ''}
       server { listen 127.0.0.1:${parts.port}; ${parts.server} }
     }\n`,
  );
  return conf;
}

/** An nginx with one server of this content and one worker. */
export async function startNginx(bench: Bench, content: Content): Promise<Server> {
  const { http, server } = partsOf(content);
  const program = programPath('nginx');
  const port = await freePort();
  const dir = ownDir(bench, `nginx-${port}`);
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${dir}/${kind};`,
  );
  writeFileSync(
    join(dir, 'nginx.conf'),
    `daemon off; worker_processes 1; pid ${dir}/nginx.pid; error_log ${dir}/error.log; events {}
     http {
       access_log off;
       keepalive_requests 1000000000;
       ${temp.join(' ')}
       ${http}
       server { listen 127.0.0.1:${port}; ${server} }
     }\n`,
  );
  return start(bench, { command: [program, '-p', dir, '-c', join(dir, 'nginx.conf')], dir, port });
}

/** The least work for uWebSockets.js: a route and a short text. */
export async function startBareUws(bench: Bench): Promise<Server> {
  const port = await freePort();
  const name = Number(process.versions.modules) >= 137 ? 'uWebSockets.js-node24' : 'uWebSockets.js';
  const source = `
    require(${JSON.stringify(resolve('node_modules', name))}).App()
      .get('/*', (res) => { res.end('ok'); })
      .listen('127.0.0.1', ${port}, (socket) => { if (!socket) process.exit(1); });`;
  return start(bench, { command: [process.execPath, '-e', source], dir: bench.dir, port });
}

/** A Webdis with one thread in front of a Redis. */
export async function startWebdis(bench: Bench, redisPort: number): Promise<Server> {
  const program = programPath('webdis');
  const port = await freePort();
  const dir = ownDir(bench, `webdis-${port}`);
  const conf = {
    redis_host: '127.0.0.1',
    redis_port: redisPort,
    http_host: '127.0.0.1',
    http_port: port,
    threads: 1,
    daemonize: false,
    database: 0,
    verbosity: 0,
    logfile: join(dir, 'webdis.log'),
  };
  writeFileSync(join(dir, 'webdis.json'), JSON.stringify(conf));
  return start(bench, { command: [program, join(dir, 'webdis.json')], dir, port });
}

/** An empty Redis. */
export async function startRedis(bench: Bench): Promise<Server> {
  const program = programPath('redis-server');
  const port = await freePort();
  const settings = ['--bind', '127.0.0.1', '--port', String(port), '--save', '', '--appendonly', 'no'];
  const server = launch(program, settings, { cwd: bench.dir });
  bench.onTestFinished(async () => void (await server.stop()));
  await server.waitForOutput(/Ready to accept connections/);
  return { port, pid: server.pid };
}

function partsOf(content: Content): { readonly http: string; readonly server: string } {
  return typeof content === 'string' ? { http: '', server: content } : content;
}

function ownDir(bench: Bench, name: string): string {
  const dir = join(bench.dir, name);
  mkdirSync(dir);
  return dir;
}

interface Command {
  readonly command: readonly [string, ...string[]];
  readonly dir: string;
  readonly port: number;
}

async function start(bench: Bench, { command: [program, ...args], dir, port }: Command): Promise<Server> {
  const server = launch(program, args, { cwd: dir });
  bench.onTestFinished(async () => void (await server.stop()));
  const responds = () =>
    call(port, '/').then(
      () => true,
      () => false,
    );
  while (!(await responds())) {
    if (server.exit()) throw new Error(`"${program}" ended: ${server.output()}`);
    await sleep(10);
  }
  return { port, pid: server.pid };
}
