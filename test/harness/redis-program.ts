import { execFileSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

const INSTALL = 'apt-get install redis-server, dnf install valkey or brew install redis';

/** Path of redis-server or valkey-server. Root gets it from apt-get when it is missing; others are told what to install. */
export function findRedis(): string {
  const found = findProgram('redis-server') ?? findProgram('valkey-server');
  if (found) return found;
  const aptGet = process.getuid?.() === 0 ? findProgram('apt-get') : undefined;
  if (!aptGet)
    throw new Error(`the tests need a real Redis and there is no redis-server or valkey-server: ${INSTALL}`);

  console.log('tests: there is no redis-server or valkey-server, so apt-get installs redis-server');
  const options = { stdio: 'inherit', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } } as const;
  execFileSync(aptGet, ['update', '-q'], options);
  execFileSync(aptGet, ['install', '-qy', '--no-install-recommends', 'redis-server'], options);
  const installed = findProgram('redis-server');
  if (!installed) throw new Error(`apt-get did not install redis-server: ${INSTALL}`);
  return installed;
}

/** Full path of a program on the PATH. */
export function findProgram(name: string): string | undefined {
  const dirs = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin'];
  return dirs.map((dir) => join(dir, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
