import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openErrorLogs } from '../../src/log/index.ts';
import { Keeper } from '../../src/master/keeper/index.ts';
import { writePidFile } from '../../src/master/pid-file.ts';
import { handOver } from '../../src/master/privileges/ownership.ts';
import type { Owner } from '../harness/owner.ts';
import { IS_ROOT, NOBODY } from './rights.ts';

function directory(t: Owner): string {
  const dir = mkdtempSync(join(tmpdir(), 'gw-privileges-'));
  t.onTestFinished(async () => rmSync(dir, { recursive: true }));
  return dir;
}

test.runIf(IS_ROOT)(
  'nothing is handed over that somebody else than root could have put in its place',
  (t) => {
    const dir = directory(t);
    for (const name of ['open', 'own', 'own/data', 'theirs']) mkdirSync(join(dir, name));
    chmodSync(join(dir, 'open'), 0o777);
    for (const name of ['open/log', 'open/target', 'own/linked-to', 'theirs/log', 'own/data/file'])
      writeFileSync(join(dir, name), '');
    chownSync(join(dir, 'theirs'), NOBODY.uid, 0);
    symlinkSync('../open/target', join(dir, 'own/to-open'));
    symlinkSync('linked-to', join(dir, 'own/to-own'));
    writeFileSync(join(dir, 'victim'), '');
    linkSync(join(dir, 'victim'), join(dir, 'own/second-name'));
    const files = [
      'open/log',
      'own/to-open',
      'own/to-own',
      'own/second-name',
      'own/new',
      'theirs/log',
      'theirs/new',
    ];
    const absolute = (names: readonly string[]): string[] => names.map((name) => join(dir, name));
    handOver(
      { files: absolute(files), directories: absolute(['own/data', 'own/made', 'open']) },
      { name: 'nobody', uid: NOBODY.uid, gid: NOBODY.uid },
    );
    const owned = (readdirSync(dir, { recursive: true }) as string[]).filter(
      (name) => lstatSync(join(dir, name)).uid === NOBODY.uid,
    );
    const handedOver = ['own/data', 'own/data/file', 'own/linked-to', 'own/made', 'own/new'];
    expect(owned.toSorted()).toEqual([...handedOver, 'theirs'].toSorted());
    expect(existsSync(join(dir, 'theirs/new'))).toBe(false);
  },
);

test.runIf(IS_ROOT)('root writes neither a pid file nor a log where a link of somebody else leads', (t) => {
  const dir = directory(t);
  for (const victim of ['pid', 'log']) writeFileSync(join(dir, victim), 'kept');
  mkdirSync(join(dir, 'theirs'));
  for (const victim of ['pid', 'log']) symlinkSync(`../${victim}`, join(dir, 'theirs', victim));
  chownSync(join(dir, 'theirs'), NOBODY.uid, 0);
  writePidFile(join(dir, 'theirs/pid'), 4711);
  const log = openErrorLogs([{ path: 'theirs/log', level: 'error' }], { prefix: dir, tid: 0 });
  log.write('error', 'into a trap');
  log.close();
  expect(readFileSync(join(dir, 'theirs/pid'), 'utf8')).toBe('4711\n');
  expect(['pid', 'log'].map((victim) => readFileSync(join(dir, victim), 'utf8'))).toEqual(['kept', 'kept']);
});

test('a keeper is not impressed by what is no message', () => {
  const answers: unknown[] = [];
  const keeper = new Keeper({ source: '{}', pid: 1, answer: (message) => void answers.push(message) });
  for (const message of [null, 'load', 7, {}, { type: 'serving' }, { type: 'socket', key: 7, question: 1 }])
    keeper.receive(message as never);
  expect(answers).toContainEqual({ type: 'failed', reason: '"7" is not in the configuration', question: 1 });
});
