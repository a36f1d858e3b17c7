import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { ConfigSource } from '../src/pipeline.ts';
import { isAlive } from '../src/system/index.ts';
import { packageRoot } from './examples.ts';

/** A demo that runs. */
interface RunningDemo {
  readonly pid: number;
  readonly port: number;
}

/** In the data directory while a demo runs on it. */
const FILE = 'demo.json';

/** Returns the configuration of the demo whose data is in this directory, for this process and those that it starts. */
export function demoSource(data: string, port: number): ConfigSource {
  process.env['GW_DEMO_PORT'] = String(port);
  return {
    prefix: resolve(data),
    confFile: join(packageRoot(), 'conf/demo.conf'),
    name: 'conf/demo.conf',
  };
}

/** Returns the demo that runs on this data directory, if any. */
export function runningDemo(data: string): RunningDemo | undefined {
  try {
    const { pid, port } = JSON.parse(readFileSync(join(data, FILE), 'utf8')) as Record<string, unknown>;
    return isWhole(pid) && isWhole(port) && isAlive(pid) ? { pid, port } : undefined;
  } catch {
    return undefined;
  }
}

function isWhole(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) > 0;
}

/** Registers this process as the demo of a data directory on which no other one runs. Returns a function that undoes it. */
export function registerDemo(data: string, port: number): () => void {
  const file = join(data, FILE);
  // It may be left of a demo that was killed. A link of somebody else is not followed.
  rmSync(file, { force: true });
  writeFileSync(file, JSON.stringify({ pid: process.pid, port } satisfies RunningDemo), { flag: 'wx' });
  return () => rmSync(file, { force: true });
}
