import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { findProgram } from '../harness/programs.ts';

const INSTALL = {
  wrk: 'apt-get install wrk',
  h2load: 'apt-get install nghttp2-client',
  openssl: 'apt-get install openssl',
  nginx: 'apt-get install nginx-light',
  nchan: 'apt-get install libnginx-mod-nchan',
  'lua-resty-redis': 'apt-get install libnginx-mod-http-lua lua-nginx-redis',
  webdis: 'apt-get install webdis',
  pgbench: 'apt-get install postgresql-contrib',
  psql: 'apt-get install postgresql-client',
  'redis-server': 'apt-get install redis-server',
} as const;

export type ProgramName = keyof typeof INSTALL;

/** Why a line is skipped: `wrk is not installed (apt-get install wrk)`. */
export class NotInstalled extends Error {
  constructor(name: ProgramName) {
    super(`${name} is not installed (${INSTALL[name]})`);
  }
}

/** Full path of a program that the benchmark uses but does not include; throws `NotInstalled`. */
export function programPath(name: ProgramName): string {
  const path = findProgram(name);
  if (path === undefined) throw new NotInstalled(name);
  return path;
}

const MAX_RUN_MS = 60_000;

/** Runs a program to its end and gives its standard output; throws with its standard error when it fails. */
export async function runProgram(path: string, args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(path, args, { timeout: MAX_RUN_MS, killSignal: 'SIGKILL' });
  return stdout;
}
