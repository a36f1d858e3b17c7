import { mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openErrorLogs, type ErrorLogTarget } from '../../src/log/index.ts';

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gw-log-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const open = (...targets: ErrorLogTarget[]) => openErrorLogs(targets, { prefix: dir, tid: 3 });
const read = (name = 'error.log') => readFileSync(join(dir, name), 'utf8');
const target = (level: ErrorLogTarget['level'], path = 'error.log'): ErrorLogTarget => ({ path, level });

/** The lines without their time. */
const lines = (name?: string) =>
  read(name)
    .split('\n')
    .map((line) => line.replace(/^\d{4}\/\d\d\/\d\d \d\d:\d\d:\d\d /, '@ '));

test('a line has nginx’s layout', () => {
  const log = open(target('error'));
  log.write('error', 'connect() failed', {
    connection: 7,
    client: '10.0.0.1',
    server: 'a.example',
    request: 'GET /x?key=abc HTTP/1.1',
    upstream: 'redis://127.0.0.1:6379',
    host: 'A.example',
  });
  log.close();
  expect(lines()).toEqual([
    `@ [error] ${process.pid}#3: *7 connect() failed, client: 10.0.0.1, server: a.example, ` +
      'request: "GET /x?key=*** HTTP/1.1", upstream: "redis://127.0.0.1:6379", host: "A.example"',
    '',
  ]);
});

test('an empty server name is shown, and absent fields are left out', () => {
  const log = open(target('error'));
  log.write('error', 'm', { client: 'c', server: '' });
  log.close();
  expect(lines()[0]).toBe(`@ [error] ${process.pid}#3: m, client: c, server: `);
});

test('lines below the level are left out, per file', () => {
  const log = open(target('warn'), target('debug', 'all.log'));
  for (const level of ['debug', 'info', 'notice', 'warn', 'error', 'crit', 'alert', 'emerg'] as const) {
    log.write(level, 'm');
  }
  log.close();
  const levels = (name?: string) => [...read(name).matchAll(/\[(\w+)\]/g)].map((match) => match[1]);
  expect(levels()).toEqual(['warn', 'error', 'crit', 'alert', 'emerg']);
  expect(levels('all.log')).toHaveLength(8);
});

test('control bytes can neither forge a line nor reach a terminal', () => {
  const log = open(target('error'));
  log.write('error', 'a\nb\r\x1b[2J\x9b', { request: 'GET /\n2026/11/20 [alert] x' });
  log.close();
  expect(lines()).toEqual([
    `@ [error] ${process.pid}#3: a\\x0Ab\\x0D\\x1B[2J\\x9B, request: "GET /\\x0A2026/11/20 [alert] x"`,
    '',
  ]);
});

test.each(['', '-'])(
  'a line that a pipe would not take in one piece is cut behind a whole character',
  (start) => {
    const log = open(target('error'));
    log.write('error', start + 'é'.repeat(5000));
    log.write('error', 'next');
    log.close();
    const [long = '', next] = lines();
    expect(Buffer.byteLength(read().split('\n')[0] ?? '')).toBeLessThan(4096);
    expect(long).toMatch(/#3: -?é{2000,}$/);
    expect(next).toContain('next');
  },
);

test('reopening continues in a new file of the same name', () => {
  const log = open(target('error'));
  log.write('error', 'before');
  renameSync(join(dir, 'error.log'), join(dir, 'error.log.1'));
  log.reopen();
  log.write('error', 'after');
  log.close();
  expect(read('error.log.1')).toContain('before');
  expect(read()).toContain('after');
  expect(read()).not.toContain('before');
});

test('the open file stays in use when it cannot be reopened, and says why', () => {
  const log = open(target('error', join(dir, 'error.log')));
  renameSync(dir, `${dir}.moved`);
  log.reopen();
  log.write('error', 'still here');
  log.close();
  renameSync(`${dir}.moved`, dir);
  const failed = `open() "${dir}/error.log" failed (2: No such file or directory)`;
  expect(lines()).toEqual([
    `@ [emerg] ${process.pid}#3: ${failed}`,
    `@ [error] ${process.pid}#3: still here`,
    '',
  ]);
});
