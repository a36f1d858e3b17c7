import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openErrorLogs } from '../../src/log/index.ts';
import { Keeper } from '../../src/master/keeper/index.ts';
import { readPidFile, removePidFile, writePidFile } from '../../src/master/process-files.ts';
import { handOver, openLogs } from '../../src/master/rights/holdings.ts';
import { appendAsRoot, chmodSocket } from '../../src/system/index.ts';
import type { Owner } from '../harness/owner.ts';
import { childrenOf, IS_ROOT, NOBODY } from './rights.ts';

const ACCOUNT = { name: 'nobody', uid: NOBODY.uid, gid: NOBODY.uid };
const DAEMON = 1;

function directory(t: Owner): string {
  const dir = mkdtempSync(join(tmpdir(), 'gw-privileges-'));
  t.onTestFinished(async () => rmSync(dir, { recursive: true }));
  return dir;
}

/** Directories owned by root, by the account and writable by all, with links from each into the others. */
function layTraps(dir: string): void {
  for (const name of ['open', 'own', 'own/data', 'own/kept', 'theirs']) mkdirSync(join(dir, name));
  chmodSync(join(dir, 'open'), 0o777);
  const files = ['open/log', 'open/target', 'own/linked-to', 'own/secret', 'theirs/log', 'own/data/file'];
  for (const name of [...files, 'victim']) writeFileSync(join(dir, name), '');
  for (const name of ['theirs/secret', 'open/secret']) writeFileSync(join(dir, name), '', { mode: 0o640 });
  for (const name of ['theirs/foreign', 'open/foreign']) {
    writeFileSync(join(dir, name), '');
    chownSync(join(dir, name), DAEMON, 0);
  }
  execFileSync('mkfifo', [join(dir, 'theirs/pipe'), join(dir, 'own/pipe')]);
  chownSync(join(dir, 'theirs'), NOBODY.uid, 0);
  const links = {
    'own/to-open': '../open/target',
    'own/to-own': 'linked-to',
    'own/to-theirs': '../theirs/to-secret',
    'theirs/to-secret': '../own/secret',
    'theirs/to-own': '../own',
  };
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(dir, name));
  for (const name of ['own/second-name', 'theirs/second-name'])
    linkSync(join(dir, 'victim'), join(dir, name));
}

/** The files that the account owns; links are not followed. */
function ownedIn(dir: string): readonly string[] {
  return (readdirSync(dir, { recursive: true }) as string[])
    .filter((name) => !name.includes('to-own/') && lstatSync(join(dir, name)).uid === NOBODY.uid)
    .toSorted();
}

test.runIf(IS_ROOT)(
  'only directories that no other account than root can replace change their owner',
  (t) => {
    const dir = directory(t);
    layTraps(dir);
    const absolute = (names: readonly string[]): string[] => names.map((name) => join(dir, name));
    const directories = ['own/data', 'own/made', 'open', 'theirs/to-own/kept', 'theirs/to-own/put'];
    // A directory that may hold files of others is given away only if it was made just now.
    const sharedDirectories = ['own/shared', 'own', 'theirs/to-own/shared'];
    handOver({ directories: absolute(directories), sharedDirectories: absolute(sharedDirectories) }, ACCOUNT);
    expect(ownedIn(dir)).toEqual(['own/data', 'own/data/file', 'own/made', 'own/shared', 'theirs']);
    expect(existsSync(join(dir, 'own/put'))).toBe(false);
  },
);

const TRAP = 'others can write its directory';
const logs = [
  { it: 'in a directory of root', path: 'own/new', given: 'own/new' },
  { it: 'behind a link of root', path: 'own/to-own', given: 'own/linked-to' },
  { it: 'behind a link of root into a directory open to all', path: 'own/to-open', given: 'open/target' },
  { it: 'in a directory of the account', path: 'theirs/new', given: 'theirs/new' },
  { it: 'of root in a directory of the account', path: 'theirs/log', given: 'theirs/log' },
  { it: 'of root in a directory open to all', path: 'open/log', given: 'open/log' },
  { it: 'of root that the account could not read', path: 'theirs/secret' },
  { it: 'of root that the account could not read in a directory open to all', path: 'open/secret' },
  {
    it: 'of another user in a directory open to all',
    path: 'open/foreign',
    fault: `another user, and ${TRAP}`,
  },
  { it: 'of another user in a directory of the account', path: 'theirs/foreign', fault: TRAP },
  {
    it: 'behind a link of the account',
    path: 'theirs/to-secret',
    fault: 'Too many levels of symbolic links',
  },
  {
    it: 'behind a link of the account to a directory',
    path: 'theirs/to-own/secret',
    fault: 'Not a directory',
  },
  { it: 'missing behind such a link', path: 'theirs/to-own/made', fault: 'Not a directory' },
  { it: 'with a second name in a directory of root', path: 'own/second-name' },
  {
    it: 'with a second name elsewhere',
    path: 'theirs/second-name',
    fault: `several hard links, and ${TRAP}`,
  },
  { it: 'that is a pipe of the account', path: 'theirs/pipe', fault: `not a regular file, and ${TRAP}` },
  { it: 'that is a pipe of root', path: 'own/pipe', given: 'own/pipe' },
  { it: 'that is a directory', path: 'own/data', fault: 'Is a directory' },
  { it: 'in a missing directory', path: 'own/none/log', fault: 'No such file or directory' },
];
for (const { it, path, given, fault = '' } of logs)
  test.runIf(IS_ROOT)(
    `a log ${it} ${fault === '' ? '' : 'is not opened by root, and '}becomes the account’s: ${given !== undefined}`,
    (t) => {
      const dir = directory(t);
      layTraps(dir);
      const before = ownedIn(dir);
      const { held, faults } = openLogs([join(dir, path)], ACCOUNT);
      for (const { fd } of Object.values(held)) closeSync(fd);
      expect(Object.values(faults).join('')).toMatch(fault === '' ? /^$/ : fault);
      expect(Object.keys(held)).toEqual(given === undefined ? [] : [join(dir, path)]);
      expect(ownedIn(dir)).toEqual(
        [...new Set([...before, ...(given === undefined ? [] : [given])])].toSorted(),
      );
    },
  );

test.runIf(IS_ROOT)('root writes neither a pid file nor a log through a link of another account', (t) => {
  const dir = directory(t);
  const victims = ['pid', 'log', 'hard', 'own/log'];
  for (const made of ['theirs', 'theirs/real', 'own']) mkdirSync(join(dir, made));
  for (const victim of victims) writeFileSync(join(dir, victim), 'kept');
  for (const victim of ['pid', 'log']) symlinkSync(`../${victim}`, join(dir, 'theirs', victim));
  symlinkSync('../own', join(dir, 'theirs/to-own'));
  symlinkSync('theirs', join(dir, 'to-theirs'));
  linkSync(join(dir, 'hard'), join(dir, 'theirs/hard'));
  chownSync(join(dir, 'theirs'), NOBODY.uid, 0);
  writePidFile(join(dir, 'theirs/pid'), 4711);
  expect(() => writePidFile(join(dir, 'theirs/to-own/pid'), 4711)).toThrow('Not a directory');
  for (const name of ['log', 'hard', 'to-own/log', 'to-own/new', 'real/log']) {
    const path = `to-theirs/${name}`;
    const log = openErrorLogs([{ path, level: 'error' }], { prefix: dir, tid: 0 });
    log.write('error', 'into a trap');
    log.close();
  }
  expect(readFileSync(join(dir, 'theirs/pid'), 'utf8')).toBe('4711\n');
  expect(readFileSync(join(dir, 'theirs/real/log'), 'utf8')).toContain('into a trap');
  expect(victims.map((victim) => readFileSync(join(dir, victim), 'utf8'))).toEqual(victims.map(() => 'kept'));
  expect(readdirSync(join(dir, 'own'))).toEqual(['log']);
});

test.runIf(IS_ROOT)('root removes no pid file behind a link of another account', (t) => {
  const dir = directory(t);
  for (const made of ['theirs', 'own']) mkdirSync(join(dir, made));
  for (const name of ['theirs/pid', 'own/pid']) writeFileSync(join(dir, name), '4711\n');
  symlinkSync('../own', join(dir, 'theirs/to-own'));
  chownSync(join(dir, 'theirs'), NOBODY.uid, 0);
  for (const name of ['theirs/to-own/pid', 'theirs/pid']) removePidFile(join(dir, name), 4711);
  expect(() => writePidFile(join(dir, 'theirs/to-own/pid'), 4712)).toThrow('Not a directory');
  expect(readFileSync(join(dir, 'own/pid'), 'utf8')).toBe('4711\n');
  expect(existsSync(join(dir, 'theirs/pid'))).toBe(false);
});

test.runIf(IS_ROOT)('a pipe of another account does not make root wait', (t) => {
  const dir = directory(t);
  mkdirSync(join(dir, 'theirs'));
  const path = join(dir, 'theirs/pipe');
  execFileSync('mkfifo', [path]);
  chownSync(join(dir, 'theirs'), NOBODY.uid, 0);
  const refusal = 'it is not a regular file, and others can write its directory';
  expect(() => readPidFile(path)).toThrow(`open() "${path}" failed (${refusal})`);
  expect(() => appendAsRoot(path)).toThrow(refusal);
  // With a reader the pipe can be opened, and it fills up.
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  expect(() => appendAsRoot(path)).toThrow(refusal);
  closeSync(reader);
  writePidFile(path, 4711);
  expect(readFileSync(path, 'utf8')).toBe('4711\n');
});

test.runIf(IS_ROOT)('root makes a socket accessible to all, and no other file in its place', async (t) => {
  const dir = directory(t);
  for (const made of ['secret', 'theirs/file']) {
    mkdirSync(join(dir, 'theirs'), { recursive: true });
    writeFileSync(join(dir, made), '', { mode: 0o600 });
  }
  symlinkSync('../secret', join(dir, 'theirs/link'));
  const server = createServer().listen(join(dir, 'theirs/socket'));
  await once(server, 'listening');
  chownSync(join(dir, 'theirs'), NOBODY.uid, 0);
  for (const name of ['link', 'file', 'socket']) chmodSocket(join(dir, 'theirs', name), 0o666);
  const modes = ['secret', 'theirs/file', 'theirs/socket'].map(
    (name) => lstatSync(join(dir, name)).mode & 0o777,
  );
  expect(modes).toEqual([0o600, 0o600, 0o666]);
  server.close();
});

test('a keeper ignores what is not a message', () => {
  const answers: unknown[] = [];
  const keeper = new Keeper({ source: '{}', pid: 1, answer: (message) => void answers.push(message) });
  for (const message of [null, 'load', 7, {}, { type: 'serving' }, { type: 'socket', key: 7, question: 1 }])
    keeper.receive(message as never);
  expect(answers).toContainEqual({ type: 'failed', reason: '"7" is not in the configuration', question: 1 });
});

test.runIf(IS_ROOT)('a keeper whose process has ended accepts no further messages', async (t) => {
  const dir = directory(t);
  const keeper = new Keeper({ source: '{}', pid: 4711, answer: () => undefined });
  const granting = (pidFile: string): void => {
    const holdings = {
      account: ACCOUNT,
      addresses: [],
      written: { files: [], directories: [], sharedDirectories: [], stateDirectories: [] },
      pidFile,
      shutdownTimeoutMs: 0,
    };
    keeper.receive({ type: 'grant', holdings, candidate: '' });
    keeper.receive({ type: 'serving', question: 1 });
  };
  granting(join(dir, 'pid'));
  await expect.poll(() => readdirSync(dir)).toEqual(['pid']);
  keeper.end();
  granting(join(dir, 'other'));
  await new Promise((resolve) => void setImmediate(resolve));
  expect(readdirSync(dir)).toEqual([]);
});

test('a keeper that could not start a process tries again at the next question', async (t) => {
  const answers: unknown[] = [];
  const keeper = new Keeper({ source: '{}', pid: 1, answer: (message) => void answers.push(message) });
  const { execPath } = process;
  t.onTestFinished(() => void (process.execPath = execPath));
  process.execPath = '/dev/null/node';
  keeper.receive({ type: 'findings', question: 1 });
  await expect.poll(() => answers).toEqual([failed('ENOTDIR', 1)]);
  process.execPath = execPath;
  keeper.receive({ type: 'findings', question: 2 });
  await expect.poll(() => answers).toEqual([failed('ENOTDIR', 1), failed('ended (code 1)', 2)]);
});

function failed(reason: string, question: number): unknown {
  return { type: 'failed', reason: expect.stringContaining(reason) as string, question };
}

test('a keeper starts one process at a time, and refuses too many waiting questions', async () => {
  const answers: { readonly type: string }[] = [];
  const keeper = new Keeper({ source: '{}', pid: 1, answer: (message) => void answers.push(message) });
  const before = childrenOf(process.pid).length;
  let most = 0;
  for (let question = 0; question < 50; question++) keeper.receive({ type: 'load', question });
  await expect
    .poll(
      () => {
        most = Math.max(most, childrenOf(process.pid).length);
        return answers.length;
      },
      { timeout: 30_000, interval: 5 },
    )
    .toBe(50);
  expect(most - before).toBeLessThan(2);
  expect(answers.filter(({ type }) => type === 'failed').length).toBeGreaterThan(40);
});
