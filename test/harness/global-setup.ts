import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { startCluster } from './cluster.ts';
import { obtainChromium, obtainPgbouncer, obtainRedis } from './programs.ts';
import type { Services } from './services.ts';

const MEMORY = '/dev/shm';
/** Several times the size of what a run writes, its databases included. */
const PLENTY_BYTES = 8 * 2 ** 30;

/**
 * Runs once, in vitest's main process: starts each service that tests share at its first use, and stops it after the
 * last test. A run of unit tests starts nothing.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // All temporary files of the run, so that those of a process that was killed are removed as well; programs of other users write, too.
  const dir = mkdtempSync(join(fastDirectory(), 'gws-'));
  chmodSync(dir, 0o1777);
  process.env['TMPDIR'] = dir;
  const starting = new Map<string, Promise<Services[keyof Services]>>();
  const stops: (() => Promise<void>)[] = [];

  const start = async (name: string): Promise<Services[keyof Services]> => {
    if (name === 'redis') return { program: await obtainRedis() };
    if (name === 'chromium') return { program: await obtainChromium() };
    if (name === 'pgbouncer') return { program: await obtainPgbouncer() };
    const { stop, ...address } = await startCluster();
    stops.push(stop);
    return address;
  };
  const server = createServer((socket) => {
    socket.once('data', (data) => {
      const name = data.toString();
      const started = starting.get(name) ?? start(name);
      starting.set(name, started);
      started.then(
        (value) => socket.end(JSON.stringify({ value })),
        (error: Error) => socket.end(JSON.stringify({ reason: error.message })),
      );
    });
  });
  await once(server.listen(join(dir, 'services')), 'listening');
  project.provide('services', join(dir, 'services'));

  return async () => {
    server.close();
    await Promise.allSettled(starting.values());
    for (const stop of stops) await stop();
    // A gateway may still be ending.
    rmSync(dir, { recursive: true, force: true, maxRetries: 20 });
  };
}

/**
 * The file system for what a run writes: memory if there is plenty of it. On a disk, writing a small file again costs ten
 * times as much, and creating the files of a database takes a third of the time.
 */
function fastDirectory(): string {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    const isRoomy = bavail * bsize > PLENTY_BYTES && process.availableMemory() > PLENTY_BYTES;
    if (isRoomy && runsPrograms(MEMORY)) return MEMORY;
  } catch {
    // Not on Linux.
  }
  return tmpdir();
}

/** Tests write programs; in a container, `/dev/shm` may be mounted without the right to run them. */
function runsPrograms(parent: string): boolean {
  const dir = mkdtempSync(join(parent, 'gws-'));
  try {
    const program = join(dir, 'program');
    writeFileSync(program, '#!/bin/sh\n');
    chmodSync(program, 0o700);
    return spawnSync(program).status === 0;
  } finally {
    rmSync(dir, { recursive: true });
  }
}
