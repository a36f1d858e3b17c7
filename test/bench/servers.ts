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

/** Both gateways get the same: no log of requests, connections that stay, and as many of them as a process may have. */
export const HTTP_SETTINGS = `access_log off; keepalive_requests 1000000000; keepalive_timeout 300s;`;
export const EVENTS = 'events { worker_connections 50000; }';

/** A gateway with one server of this content and one worker, unless told otherwise. */
export async function startGw(bench: Bench, content: Content, workers = 1): Promise<Server> {
  if (!existsSync(GW))
    throw new Error(`"${GW}" is missing: run "npm run bench" in the root of the repository`);
  const port = await freePort();
  const dir = ownDir(bench, `gw-${port}`);
  const conf = writeGwConf(dir, { ...partsOf(content), port, workers });
  const profiling =
    bench.profileDir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${resolve(bench.profileDir)}`];
  const command = [process.execPath, ...profiling, GW, '-p', dir, '-c', conf] as const;
  return startServer(bench, { command, dir, port });
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
     ${EVENTS}
     http {
       ${HTTP_SETTINGS}
       ${parts.http ?? ''}
       server { listen 127.0.0.1:${parts.port} backlog=4096; ${parts.server} }
     }\n`,
  );
  return conf;
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

export function partsOf(content: Content): { readonly http: string; readonly server: string } {
  return typeof content === 'string' ? { http: '', server: content } : content;
}

export function ownDir(bench: Bench, name: string): string {
  const dir = join(bench.dir, name);
  mkdirSync(dir);
  return dir;
}

interface Command {
  readonly command: readonly [string, ...string[]];
  readonly dir: string;
  readonly port: number;
  readonly env?: NodeJS.ProcessEnv;
}

/** Starts a program and resolves when it responds on its port, with whatever status. */
export async function startServer(
  bench: Bench,
  { command: [program, ...args], dir, port, env = process.env }: Command,
): Promise<Server> {
  const server = launch(program, args, { cwd: dir, env });
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
