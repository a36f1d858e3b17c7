import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { StateLock } from '../../../src/acme/custodian/state-lock.ts';

const base = realpathSync(mkdtempSync(join(tmpdir(), 'gw-acme-lock-')));
afterAll(() => rmSync(base, { recursive: true, force: true }));

let count = 0;

interface Opened {
  readonly lock: StateLock;
  readonly told: (number | undefined)[];
}

async function open(root: string, nowMs?: () => number): Promise<Opened> {
  const told: (number | undefined)[] = [];
  const lock = new StateLock({ root, waits: (pid) => void told.push(pid), ...(nowMs && { nowMs }) });
  await lock.open();
  return { lock, told };
}

const freshRoot = (): string => join(base, String((count += 1)), 'state');
const fileOf = (root: string): string => join(root, 'lock');
const holderOf = (root: string): Record<string, unknown> =>
  JSON.parse(readFileSync(fileOf(root), 'utf8')) as Record<string, unknown>;

/** A process that lives until it is killed. */
async function startProcess(): Promise<{ readonly pid: number; end: () => Promise<void> }> {
  const child = spawn('sleep', ['100'], { stdio: 'ignore' });
  await once(child, 'spawn');
  return {
    pid: child.pid ?? 0,
    async end() {
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

test('the lock is a file that is gone afterwards', async () => {
  const root = freshRoot();
  const { lock, told } = await open(root);
  expect(lock.isHeld).toBe(true);
  expect(holderOf(root)['pid']).toBe(process.pid);
  await lock.close();
  expect([existsSync(fileOf(root)), lock.isHeld, told]).toEqual([false, false, []]);
});

test('one that another process holds is waited for, and taken when that process has been killed', async (t) => {
  const root = freshRoot();
  const first = await open(root);
  const other = await startProcess();
  const text = JSON.stringify({ ...holderOf(root), pid: other.pid, started: '', id: 'another' });
  await first.lock.close();
  writeFileSync(fileOf(root), text);
  const { lock, told } = await open(root);
  t.onTestFinished(() => lock.close());
  expect([lock.isHeld, told]).toEqual([false, [other.pid]]);
  expect(readFileSync(fileOf(root), 'utf8')).toBe(text);
  await other.end();
  await t.expect.poll(() => lock.isHeld).toBe(true);
  expect([holderOf(root)['pid'], told]).toEqual([process.pid, [other.pid]]);
});

test('one whose holder gives it up is taken', async (t) => {
  const root = freshRoot();
  const first = await open(root);
  const other = await startProcess();
  t.onTestFinished(() => other.end());
  const text = JSON.stringify({ ...holderOf(root), pid: other.pid, started: '' });
  await first.lock.close();
  writeFileSync(fileOf(root), text);
  const { lock } = await open(root);
  t.onTestFinished(() => lock.close());
  expect(lock.isHeld).toBe(false);
  rmSync(fileOf(root));
  await t.expect.poll(() => lock.isHeld).toBe(true);
});

test('one of a process whose number another one has by now is taken at once', async (t) => {
  const root = freshRoot();
  const first = await open(root);
  const other = await startProcess();
  t.onTestFinished(() => other.end());
  const text = JSON.stringify({ ...holderOf(root), pid: other.pid, started: '1' });
  await first.lock.close();
  writeFileSync(fileOf(root), text);
  const { lock, told } = await open(root);
  t.onTestFinished(() => lock.close());
  expect([lock.isHeld, told]).toEqual([true, []]);
});

test('one of another thread of the process is taken, and that thread knows that it has lost it', async (t) => {
  const root = freshRoot();
  const first = await open(root);
  const second = await open(root);
  t.onTestFinished(() => second.lock.close());
  expect([second.lock.isHeld, second.told]).toEqual([true, []]);
  await t.expect.poll(() => first.lock.isLost, { timeout: 5_000 }).toBe(true);
  expect(first.lock.isHeld).toBe(false);
  await first.lock.close();
  expect([existsSync(fileOf(root)), second.lock.isLost]).toEqual([true, false]);
});

test('one of another machine, whose processes cannot be looked at, is taken when it has not changed for 30 s', async (t) => {
  const root = freshRoot();
  const first = await open(root);
  const text = JSON.stringify({ ...holderOf(root), pid: 1, system: 'another' });
  await first.lock.close();
  writeFileSync(fileOf(root), text);
  let nowMs = 1_000;
  let looks = 0;
  const { lock, told } = await open(root, () => {
    looks += 1;
    return nowMs;
  });
  t.onTestFinished(() => lock.close());
  expect([lock.isHeld, told]).toEqual([false, [1]]);
  utimesSync(fileOf(root), 1, 1);
  nowMs += 40_000;
  await t.expect.poll(() => looks, { timeout: 5_000 }).toBeGreaterThan(2);
  expect(lock.isHeld).toBe(false);
  nowMs += 29_000;
  const before = looks;
  await t.expect.poll(() => looks, { timeout: 5_000 }).toBeGreaterThan(before + 1);
  expect(lock.isHeld).toBe(false);
  nowMs += 1_000;
  await t.expect.poll(() => lock.isHeld, { timeout: 5_000 }).toBe(true);
});

test('where no file can be made, nothing is waited for', async (t) => {
  const root = freshRoot();
  await (await open(root)).lock.close();
  writeFileSync(join(root, 'file'), '');
  const { lock } = await open(join(root, 'file'));
  t.onTestFinished(() => lock.close());
  expect(lock.isHeld).toBe(true);
});
