import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openAccessLog, type ErrorLog } from '../../src/log/index.ts';

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gw-log-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const read = (name = 'access.log') => readFileSync(join(dir, name), 'utf8');

function open({ path = join(dir, 'access.log'), bufferBytes = 0, flushMs = 0 } = {}) {
  const told: string[] = [];
  const log: ErrorLog = { write: (level, message) => void told.push(`[${level}] ${message}`) };
  return { access: openAccessLog({ path, bufferBytes, flushMs, log }), told };
}

test('lines are appended in order', async () => {
  for (const part of ['first', 'second']) {
    const { access } = open();
    for (let i = 0; i < 3; i++) access.write(`${part} ${i}`);
    await access.close();
  }
  expect(read()).toBe('first 0\nfirst 1\nfirst 2\nsecond 0\nsecond 1\nsecond 2\n');
});

test('a line is written without waiting for more when there is no buffer', async () => {
  const { access } = open();
  access.write('one');
  await vi.waitFor(() => expect(read()).toBe('one\n'));
  await access.close();
});

test('a buffer holds lines back until it is full', async () => {
  const { access } = open({ bufferBytes: 100 });
  access.write('x'.repeat(50));
  await new Promise((resolve) => setImmediate(resolve));
  expect(read()).toBe('');
  access.write('y'.repeat(50));
  await vi.waitFor(() => expect(read()).toHaveLength(102));
  await access.close();
});

test('a buffer larger than one write of the library is accepted', async () => {
  const { access } = open({ bufferBytes: 1_000_000 });
  for (let i = 0; i < 2000; i++) access.write('x'.repeat(999));
  await access.close();
  expect(read()).toHaveLength(2_000_000);
});

test('flush= writes the buffer after its time', async () => {
  const { access } = open({ bufferBytes: 1000, flushMs: 1 });
  access.write('one');
  await vi.waitFor(() => expect(read()).toBe('one\n'));
  await access.close();
});

test('reopening sends later lines to a new file and earlier ones to the old', async () => {
  const { access } = open({ bufferBytes: 1000 });
  access.write('before');
  renameSync(join(dir, 'access.log'), join(dir, 'access.log.1'));
  access.reopen();
  access.write('after');
  await access.close();
  await vi.waitFor(() => expect(read('access.log.1')).toBe('before\n'));
  expect(read()).toBe('after\n');
});

test('a path that cannot be opened is reported each time that is tried, and lines for it are dropped', async () => {
  const { access, told } = open({ path: join(dir, 'missing', 'access.log') });
  access.write('one');
  access.reopen();
  access.write('two');
  await access.close();
  const failed = `open() "${join(dir, 'missing', 'access.log')}" failed (2: No such file or directory)`;
  expect(told).toEqual([`[alert] ${failed}`, `[emerg] ${failed}`]);
});

test('a log that could not be opened is written after a reopen', async () => {
  const path = join(dir, 'later', 'access.log');
  const { access } = open({ path });
  execFileSync('mkdir', [join(dir, 'later')]);
  access.reopen();
  access.write('one');
  await access.close();
  expect(read('later/access.log')).toBe('one\n');
});

test.runIf(existsSync('/dev/full'))('a full disk is reported once and never throws', async () => {
  const { access, told } = open({ path: '/dev/full' });
  for (let round = 0; round < 3; round++) {
    access.write('one');
    await vi.waitFor(() => expect(told).toHaveLength(1));
  }
  await access.close();
  expect(told).toEqual([
    '[alert] write() "/dev/full" failed (28: No space left on device)',
    '[error] 3 lines of "/dev/full" are lost: they could not be written before the end',
  ]);
});

test('writing to a closed log does nothing', async () => {
  const { access } = open();
  await access.close();
  access.write('late');
  access.reopen();
  await access.close();
  expect(read()).toBe('');
});

test('lines for a file that cannot be opened are counted, those for a closed log are not', async () => {
  const lost: number[] = [];
  const access = openAccessLog({
    path: join(dir, 'missing', 'access.log'),
    bufferBytes: 0,
    flushMs: 0,
    log: { write: () => undefined },
    dropped: (lines) => lost.push(lines),
  });
  for (let i = 0; i < 3; i++) access.write('one');
  await access.close();
  access.write('late');
  expect(lost).toEqual([1, 1, 1]);
});
