import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, type TestContext, vi } from 'vitest';
import type { Exchange } from '../../../src/http/index.ts';
import { isFault, type OpenFile } from '../../../src/modules/static/files.ts';
import { KeptContent } from '../../../src/modules/static/kept-content.ts';

const x = {} as Exchange;

function setUp(t: TestContext) {
  // Files count as settled at once because the clock is an hour ahead of them.
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 });
  const dir = mkdtempSync(join(tmpdir(), 'gw-kept-'));
  const path = join(dir, 'file');
  writeFileSync(path, 'before');
  t.onTestFinished(() => {
    vi.useRealTimers();
    rmSync(dir, { recursive: true });
  });
  return { dir, path, kept: new KeptContent() };
}

/** The content that a request gets, or the code of the fault. */
function read(kept: KeptContent, path: string): string | undefined {
  const file = kept.open(path, x);
  if (isFault(file)) return file.error.code;
  const text = file.kind === 'file' ? Buffer.from(file.content()).toString() : file.kind;
  file.release();
  return text;
}

test('an unchanged file is read once', (t) => {
  const { path, kept } = setUp(t);
  read(kept, path);
  const contents = [1, 2].map(() => (kept.open(path, x) as OpenFile).content());
  expect(contents[0]).toBe(contents[1]);
  expect(Buffer.from(contents[0] as Uint8Array).toString()).toBe('before');
});

const changes: readonly {
  readonly it: string;
  readonly act: (path: string, dir: string) => void;
  readonly gives: string;
}[] = [
  {
    it: 'is overwritten with the same length',
    act: (path) => writeFileSync(path, 'behind'),
    gives: 'behind',
  },
  { it: 'grows', act: (path) => appendFileSync(path, '!'), gives: 'before!' },
  { it: 'shrinks', act: (path) => truncateSync(path, 2), gives: 'be' },
  { it: 'is removed', act: (path) => unlinkSync(path), gives: 'ENOENT' },
  {
    it: 'is replaced by a file of the same size and time',
    act(path, dir) {
      const { atime, mtime } = statSync(path);
      writeFileSync(join(dir, 'other'), 'behind');
      utimesSync(join(dir, 'other'), atime, mtime);
      renameSync(join(dir, 'other'), path);
    },
    gives: 'behind',
  },
  {
    it: 'is overwritten and gets its old time back',
    act(path) {
      const { atime, mtime } = statSync(path);
      writeFileSync(path, 'behind');
      utimesSync(path, atime, mtime);
    },
    gives: 'behind',
  },
  {
    it: 'becomes a link to another',
    act(path, dir) {
      writeFileSync(join(dir, 'other'), 'behind');
      unlinkSync(path);
      symlinkSync(join(dir, 'other'), path);
    },
    gives: 'behind',
  },
  {
    it: 'becomes a directory',
    act(path) {
      unlinkSync(path);
      mkdirSync(path);
    },
    gives: 'directory',
  },
];

for (const { it, act, gives } of changes) {
  test(`a kept file that ${it} shows its new state to the next request`, (t) => {
    const { path, dir, kept } = setUp(t);
    expect([read(kept, path), read(kept, path)]).toEqual(['before', 'before']);
    act(path, dir);
    expect([read(kept, path), read(kept, path)]).toEqual([gives, gives]);
  });
}

test('a kept file whose permissions change is opened again', (t) => {
  const { path, kept } = setUp(t);
  const [, known] = [1, 2].map(() => (kept.open(path, x) as OpenFile).content());
  chmodSync(path, 0o600);
  const now = (kept.open(path, x) as OpenFile).content();
  expect(now).not.toBe(known);
  expect(now).toEqual(known);
});

test('a file that changes all the time never shows an old state', (t) => {
  const { path, kept } = setUp(t);
  vi.useRealTimers();
  for (let n = 0; n < 2_000; n++) {
    const text = String(n).padStart(6, '0');
    writeFileSync(path, text);
    expect(read(kept, path)).toBe(text);
  }
});

test('a link is followed for each request', (t) => {
  const { dir, path, kept } = setUp(t);
  const link = join(dir, 'link');
  symlinkSync(path, link);
  read(kept, link);
  writeFileSync(join(dir, 'other'), 'behind');
  symlinkSync(join(dir, 'other'), `${link}.new`);
  renameSync(`${link}.new`, link);
  expect(read(kept, link)).toBe('behind');
});

test('large files, and small ones beyond the room, are read without being kept', (t) => {
  const { dir, kept } = setUp(t);
  const large = join(dir, 'large');
  writeFileSync(large, 'x'.repeat(65_537));
  expect([read(kept, large)?.length, read(kept, large)?.length]).toEqual([65_537, 65_537]);
  const names = Array.from({ length: 300 }, (_, n) => join(dir, `f${n}`));
  for (const name of names) writeFileSync(name, name.padEnd(65_536));
  for (const name of [...names, ...names]) expect(read(kept, name)?.trimEnd()).toBe(name);
});
