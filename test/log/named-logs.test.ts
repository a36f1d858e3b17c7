import { mkdtempSync, readdirSync, readFileSync, readlinkSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type NamedLogRules, type NamedLogs, openNamedLogs } from '../../src/log/index.ts';

const OFF: NamedLogRules = { max: 0, inactiveMs: 60_000, minUses: 1, validMs: 60_000 };

function write(logs: NamedLogs, path: string, line: string): void {
  logs.write({ path, line, root: tmpdir(), tell: () => undefined });
}

interface Opened {
  readonly logs: NamedLogs;
  readonly directory: string;
  readonly troubles: string[];
  read(name: string): string;
  /** Resolves when the file contains the text. */
  expectText(name: string, text: unknown): Promise<void>;
  /** The files of the directory that this process has open. */
  open(): string[];
}

function logsOf(
  t: { onTestFinished(stop: () => Promise<void>): void },
  rules: Partial<NamedLogRules>,
): Opened {
  const directory = mkdtempSync(join(tmpdir(), 'gw-named-'));
  const troubles: string[] = [];
  const logs = openNamedLogs({ ...OFF, ...rules }, (trouble) => troubles.push(trouble));
  t.onTestFinished(async () => {
    await logs.close();
    rmSync(directory, { recursive: true });
  });
  const read = (name: string): string => {
    try {
      return readFileSync(join(directory, name), 'utf8');
    } catch {
      return '';
    }
  };
  return {
    logs,
    directory,
    troubles,
    read,
    expectText: async (name, text) => expect.poll(() => read(name)).toEqual(text),
    open: () =>
      readdirSync('/proc/self/fd')
        .map((fd) => {
          try {
            return readlinkSync(`/proc/self/fd/${fd}`);
          } catch {
            return '';
          }
        })
        .filter((path) => path.startsWith(directory))
        .map((path) => path.slice(directory.length + 1))
        .toSorted(),
  };
}

test('each path gets its lines in order, and without a cache no file stays open', async (t) => {
  const { logs, directory, expectText, open } = logsOf(t, {});
  for (const line of ['1', '2', '3']) for (const name of ['a', 'b']) write(logs, join(directory, name), line);
  await expectText('a', '1\n2\n3\n');
  await expectText('b', '1\n2\n3\n');
  await expect.poll(open).toEqual([]);
});

test('the cache keeps only the most recently used files open', async (t) => {
  const { logs, directory, expectText, open } = logsOf(t, { max: 2 });
  for (const name of ['a', 'b', 'c', 'b', 'd']) {
    write(logs, join(directory, name), 'x');
    await expectText(name, name === 'b' ? expect.stringMatching(/^(x\n)+$/) : 'x\n');
  }
  await expect.poll(open).toEqual(['b', 'd']);
});

test('a file that is used less than min_uses in its time is not kept open', async (t) => {
  const { logs, directory, expectText, open } = logsOf(t, { max: 2, minUses: 2 });
  write(logs, join(directory, 'a'), '1');
  await expectText('a', '1\n');
  await expect.poll(open).toEqual([]);
  write(logs, join(directory, 'a'), '2');
  await expectText('a', '1\n2\n');
  await expect.poll(open).toEqual(['a']);
});

test('a file that was moved away is noticed once its time of validity is over', async (t) => {
  const { logs, directory, expectText } = logsOf(t, { max: 2, validMs: -1 });
  const path = join(directory, 'a');
  write(logs, path, '1');
  await expectText('a', '1\n');
  renameSync(path, join(directory, 'moved'));
  write(logs, path, '2');
  await expectText('a', '2\n');
});

test('reopening closes every file, and the next line makes a new one', async (t) => {
  const { logs, directory, expectText, open } = logsOf(t, { max: 2 });
  const path = join(directory, 'a');
  write(logs, path, '1');
  await expectText('a', '1\n');
  renameSync(path, join(directory, 'moved'));
  logs.reopen();
  await expect.poll(open).toEqual([]);
  write(logs, path, '2');
  await expectText('a', '2\n');
});

test('a path that cannot be opened is reported in the words of nginx, and the other paths are written', async (t) => {
  const { logs, directory, troubles, expectText } = logsOf(t, {});
  write(logs, join(directory, 'no/a'), '1');
  write(logs, join(directory, 'b'), '1');
  await expectText('b', '1\n');
  expect(troubles).toEqual([
    `open() "${directory}/no/a" failed (2: No such file or directory) while logging request`,
  ]);
});

test('closing waits until every line is written', async (t) => {
  const { logs, directory, read } = logsOf(t, { max: 2 });
  for (const name of ['a', 'b', 'c']) write(logs, join(directory, name), 'x');
  await logs.close();
  expect(['a', 'b', 'c'].map(read)).toEqual(['x\n', 'x\n', 'x\n']);
});

test('lines of a file that cannot be written are counted as lost', async (t) => {
  const { logs, directory, troubles } = logsOf(t, {});
  let lost = 0;
  const line = {
    path: '/dev/full',
    root: directory,
    tell: () => undefined,
    dropped: (n: number) => (lost += n),
  };
  for (const text of ['one', 'two', 'three']) logs.write({ ...line, line: text });
  await expect.poll(() => lost).toBe(3);
  expect(troubles).toEqual([expect.stringContaining('(28: No space left on device)')]);
});
