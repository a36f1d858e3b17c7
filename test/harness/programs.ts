import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A program without which tests cannot run. */
interface Needed {
  /** By any of its names. */
  readonly names: readonly [string, ...string[]];
  /** Of Debian. */
  readonly package: string;
  readonly install: string;
}

const REDIS: Needed = {
  names: ['redis-server', 'valkey-server'],
  package: 'redis-server',
  install: 'apt-get install redis-server, dnf install valkey or brew install redis',
};
/** Chromium without the parts for people takes a quarter of the CPU time, and nothing while its page rests. */
const CHROMIUM: Needed = {
  names: ['chromium-headless-shell', 'chromium', 'chromium-browser'],
  package: 'chromium-headless-shell',
  install: 'apt-get install -y --no-install-recommends chromium-headless-shell',
};

const PGBOUNCER: Needed = {
  names: ['pgbouncer'],
  package: 'pgbouncer',
  install: 'apt-get install pgbouncer, dnf install pgbouncer or brew install pgbouncer',
};

/** Path of redis-server or valkey-server. Rejects with the line that installs it. */
export function obtainRedis(): Promise<string> {
  return obtain(REDIS);
}

/** Path of a Chromium. Rejects with the line that installs it. */
export function obtainChromium(): Promise<string> {
  return obtain(CHROMIUM);
}

/** Path of a PgBouncer: that of `GW_TEST_PGBOUNCER`, if it is set. Rejects with the line that installs one. */
export function obtainPgbouncer(): Promise<string> {
  const given = process.env['GW_TEST_PGBOUNCER'];
  return given === undefined ? obtain(PGBOUNCER) : Promise.resolve(given);
}

/** Full path of a program on the PATH. */
export function findProgram(name: string): string | undefined {
  const dirs = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin'];
  return dirs.map((dir) => join(dir, name)).find(isExecutable);
}

/** apt-get works for one at a time. */
let installing: Promise<unknown> = Promise.resolve();

/** Finds a program. As root, installs a missing one with apt-get; otherwise rejects with the line that installs it. */
async function obtain(needed: Needed): Promise<string> {
  const { names, package: name, install } = needed;
  const aptGet = process.getuid?.() === 0 ? findProgram('apt-get') : undefined;
  if (!find(needed) && aptGet) {
    console.log(`tests: there is no ${names.join(' or ')}, so apt-get installs ${name}`);
    installing = installing.then(() => installPackage(aptGet, name));
    await installing;
  }
  const found = find(needed);
  if (!found) throw new Error(`these tests need a real ${names[0]} and there is none: ${install}`);
  return found;
}

async function installPackage(aptGet: string, name: string): Promise<void> {
  const options = { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } };
  await run(aptGet, ['update', '-q'], options);
  await run(aptGet, ['install', '-qy', '--no-install-recommends', name], options);
}

function find({ names }: Needed): string | undefined {
  return names.flatMap((name) => findProgram(name) ?? []).at(0);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
