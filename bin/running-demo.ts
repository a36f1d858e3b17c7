import { constants, existsSync, lstatSync, realpathSync, rmSync, type Stats, writeFileSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import type { ConfigSource } from '../src/pipeline.ts';
import { isAlive } from '../src/system/index.ts';
import { packageRoot } from './installation.ts';
import { DEMO_DATA } from './options.ts';
import { readRegularFile } from './regular-file.ts';

/** A demo that runs. */
interface RunningDemo {
  readonly pid: number;
  readonly port: number;
}

/** In the data directory while a demo runs on it. */
const FILE = 'demo.json';
const MOST_BYTES = 1_024;

/** Returns the configuration of the demo whose data is in this directory, for this process and those that it starts. */
export function demoSource(data: string, port: number): ConfigSource {
  process.env['GW_DEMO_PORT'] = String(port);
  return {
    prefix: resolve(data),
    confFile: demoFile(),
    name: nearPath(demoFile()),
  };
}

/** Returns a path from the current directory if it leads into it, else the absolute path. */
export function nearPath(path: string): string {
  const near = relative(process.cwd(), path);
  return near.startsWith('..') ? path : near;
}

function demoFile(): string {
  return join(packageRoot(), 'conf/demo.conf');
}

/** Returns the demo that this account or root runs on this data directory, if any. */
export function runningDemo(data: string): RunningDemo | undefined {
  if (dataFault(data) !== undefined) return undefined;
  try {
    const text = readRegularFile(join(data, FILE), {
      mostBytes: MOST_BYTES,
      accepts: isOurs,
      flags: constants.O_NOFOLLOW,
    }).toString();
    const { pid, port } = JSON.parse(text) as Record<string, unknown>;
    return isWhole(pid) && isWhole(port) && isAlive(pid) ? { pid, port } : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns why a directory must not have the data of a demo; `undefined` if this account or root has made it. Others could
 * say where a demo runs, and let a file of it be another one.
 */
export function dataFault(data: string): string | undefined {
  const found = lstatSync(resolve(data), { throwIfNoEntry: false });
  if (!found) return `"${data}" does not exist`;
  if (!found.isDirectory()) return `"${data}" is no directory`;
  return isOurs(found) ? undefined : `"${data}" belongs to another account`;
}

function isOurs({ uid }: Stats): boolean {
  return uid === 0 || uid === process.getuid?.();
}

/** Tells whether a configuration is that of the demo, which is a part of gw. */
export function isOfDemo({ confFile }: ConfigSource): boolean {
  return confFile === demoFile();
}

/** Tells whether a file is the demo's configuration, by whatever path. */
export function isDemoFile(file: string): boolean {
  if (!existsSync(file)) return false;
  const real = realpathSync(file);
  if (basename(real) !== 'demo.conf') return false;
  const demo = demoFile();
  return existsSync(demo) && real === realpathSync(demo);
}

/** Tells whether a directory has the data of a demo that this account or root has run. */
export function hasDemoData(data: string): boolean {
  return dataFault(data) === undefined && ['kv', 'pg'].some((name) => existsSync(join(data, name)));
}

/** Returns the configuration of the demo that runs here, whose data is in `prefix` or in the default directory. */
export function runningSource(prefix = DEMO_DATA): ConfigSource | undefined {
  const demo = runningDemo(prefix);
  return demo && demoSource(prefix, demo.port);
}

function isWhole(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) > 0;
}

/**
 * Registers this process as the demo of a data directory on which no other one runs. Returns a function that undoes it.
 * Throws if the directory is not ours.
 */
export function registerDemo(data: string, port: number): () => void {
  const fault = dataFault(data);
  if (fault !== undefined) throw new Error(fault);
  const file = join(data, FILE);
  // It may be left of a demo that was killed. A link of somebody else is not followed.
  rmSync(file, { force: true });
  writeFileSync(file, JSON.stringify({ pid: process.pid, port } satisfies RunningDemo), { flag: 'wx' });
  return () => rmSync(file, { force: true });
}
