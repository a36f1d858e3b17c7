import { chownSync, linkSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { readStatus, readTrustedPid } from '../../src/master/index.ts';
import type { Owner } from '../harness/owner.ts';
import { IS_ROOT, NOBODY } from './rights.ts';

const STATUS = { pid: process.pid, version: '0.1.0' };

function pidFileIn(t: Owner): string {
  const dir = mkdtempSync(join(tmpdir(), 'gw-trusted-'));
  t.onTestFinished(async () => rmSync(dir, { recursive: true }));
  const pidFile = join(dir, 'gw.pid');
  writeFileSync(pidFile, `${process.pid}\n`);
  return pidFile;
}

test.runIf(IS_ROOT)(
  'root believes no pid or status file of another account than that of the process',
  (t) => {
    const pidFile = pidFileIn(t);
    writeFileSync(`${pidFile}.status`, JSON.stringify(STATUS));
    expect(readTrustedPid(pidFile)).toBe(process.pid);
    expect(readStatus(pidFile)).toEqual(STATUS);
    chownSync(pidFile, NOBODY.uid, 0);
    chownSync(`${pidFile}.status`, NOBODY.uid, 0);
    expect(() => readTrustedPid(pidFile)).toThrow(/^no signal is sent: ".*" belongs neither to root nor to/);
    expect(readStatus(pidFile)).toBeUndefined();
  },
);

test.runIf(IS_ROOT)('root follows no link that another account has made to a pid file of root', (t) => {
  const [own, others] = [pidFileIn(t), pidFileIn(t)];
  chownSync(dirname(others), NOBODY.uid, 0);
  rmSync(others);
  symlinkSync(own, others);
  expect(() => readTrustedPid(others)).toThrow(/^open\(\) ".*" failed/);
  rmSync(others);
  linkSync(own, others);
  expect(() => readTrustedPid(others)).toThrow(/several hard links/);
});

test.runIf(IS_ROOT)(
  "in another account's directory, root believes a file of root's only of a process that is older",
  (t) => {
    const pidFile = pidFileIn(t);
    const before = new Date(Date.now() - performance.now() - 60_000);
    utimesSync(pidFile, before, before);
    expect(readTrustedPid(pidFile)).toBe(process.pid);
    chownSync(dirname(pidFile), NOBODY.uid, 0);
    expect(() => readTrustedPid(pidFile)).toThrow(/" is older than process \d+$/);
    const now = new Date();
    utimesSync(pidFile, now, now);
    expect(readTrustedPid(pidFile)).toBe(process.pid);
  },
);

test('a status file is believed only if all of it has the expected shape', (t) => {
  const pidFile = pidFileIn(t);
  const outcome = { kind: 'reload', began: '1', isDone: true, text: 'done' };
  const readOf = (more: object): unknown => {
    writeFileSync(`${pidFile}.status`, JSON.stringify({ ...STATUS, ...more }));
    return readStatus(pidFile);
  };
  expect(readOf({ reload: outcome })).toEqual({ ...STATUS, reload: outcome });
  for (const more of [
    { version: '\u001b[2J' },
    { supervisor: 'a b' },
    { reload: { ...outcome, began: '-1' } },
    { upgrade: { ...outcome, text: 1 } },
    { filler: 'x'.repeat(65_536) },
  ])
    expect(readOf(more)).toBeUndefined();
});
