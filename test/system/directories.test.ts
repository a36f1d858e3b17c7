import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { makeDirectory, makeDirectorySync } from '../../src/system/index.ts';

const root = mkdtempSync(join(tmpdir(), 'gw-directories-'));
afterAll(() => rmSync(root, { recursive: true }));
writeFileSync(join(root, 'file'), '');

const ways = [
  { way: 'makeDirectory', make: makeDirectory },
  { way: 'makeDirectorySync', make: async (path: string, mode: number) => makeDirectorySync(path, mode) },
];

const refused = [
  { it: 'a file is in its place', path: join(root, 'file'), says: /EEXIST/ },
  { it: 'a file is in the place of a parent', path: join(root, 'file/a/b'), says: /EEXIST|ENOTDIR/ },
];
// Node's own way would not end here.
if (process.platform === 'linux')
  refused.push({ it: 'a parent can have no entries', path: '/proc/gw/a/b', says: /ENOENT/ });

for (const { way, make } of ways) {
  test(`${way} creates a directory and its parents with the mode, and is content with one that exists`, async () => {
    const path = join(root, way, 'a/b');
    await make(path, 0o700);
    await make(path, 0o700);
    for (const each of ['', 'a', 'a/b']) expect(statSync(join(root, way, each)).mode & 0o777).toBe(0o700);
  });

  test(`${way} is content when several create the same at once`, async () => {
    const path = join(root, way, 'c/d/e');
    await Promise.all(Array.from({ length: 20 }, () => make(path, 0o700)));
    expect(statSync(path).isDirectory()).toBe(true);
  });

  for (const { it, path, says } of refused)
    test(`${way} fails where ${it}`, () => expect(make(path, 0o700)).rejects.toThrow(says));
}
