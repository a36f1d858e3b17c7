import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Outcome, readStatus } from '../../src/master/index.ts';
import type { Gateway } from '../harness/gateway.ts';
import type { Owner } from '../harness/owner.ts';

/** Longer than a start may take on a busy machine. */
const OUTCOME_MS = 120_000;
const ROOT = resolve(import.meta.dirname, '../..');

/** A change of the built program: a text of it, and what takes its place. */
export type Change = readonly [text: string | RegExp, by: string];

/** An installation whose program can be replaced while it runs. */
export interface Installation {
  /** The path of its command. */
  readonly program: string;
  /** Installs another build under the same path: the built program with changes. */
  install(...changes: readonly Change[]): void;
}

/** Version of the build with these changes: `NEXT` after the first replacement. */
export const OTHER_VERSION: Change = [/VERSION = "[^"]*"/, 'VERSION = "0.1.0-next"'];

/** Installs the built program where a test can replace it. */
export function installation(t: Owner): Installation {
  const dir = mkdtempSync(join(tmpdir(), 'gw-installed-'));
  chmodSync(dir, 0o755);
  t.onTestFinished(async () => rmSync(dir, { recursive: true, force: true }));
  for (const name of ['node_modules', 'package.json']) symlinkSync(join(ROOT, name), join(dir, name));
  let builds = 0;
  const install = (...changes: readonly Change[]): void => {
    const name = `build-${++builds}`;
    mkdirSync(join(dir, name));
    execFileSync('cp', ['-r', join(ROOT, 'dist'), join(dir, name, 'dist')]);
    const chunks = join(dir, name, 'dist/src/chunks');
    for (const change of changes) applyTo(chunks, change);
    symlinkSync(name, join(dir, 'next'));
    renameSync(join(dir, 'next'), join(dir, 'current'));
  };
  install();
  return { program: join(dir, 'current/dist/bin/gw.js'), install };
}

function applyTo(chunks: string, [text, by]: Change): void {
  let count = 0;
  for (const file of readdirSync(chunks).filter((name) => name.endsWith('.js'))) {
    const before = readFileSync(join(chunks, file), 'utf8');
    const after = before.replace(text, by);
    if (after === before) continue;
    count += 1;
    // The files are links to those of the build; V8's code is that of the former text.
    for (const name of readdirSync(chunks)) if (name.startsWith(file)) rmSync(join(chunks, name));
    writeFileSync(join(chunks, file), after);
  }
  if (count === 0) throw new Error(`no file of the build has ${text}`);
}

/** Sends the signal of an upgrade, and resolves to how it went. */
export async function upgraded(gw: Gateway): Promise<Outcome> {
  const pidFile = join(gw.dir, 'gw.pid');
  const sent = process.hrtime.bigint();
  gw.signal('SIGUSR2');
  const deadline = performance.now() + OUTCOME_MS;
  for (;;) {
    const outcome = readStatus(pidFile)?.upgrade;
    if (outcome && BigInt(outcome.began) >= sent) return outcome;
    if (performance.now() > deadline) throw new Error('the outcome of the upgrade is not told');
    await sleep(20);
  }
}
