import { chmodSync, chownSync, lchownSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { keepPackage } from '../../../src/modules/dbrest/embedded/store.ts';
import { directoryWith } from '../../cli/command.ts';

const NOBODY = 65_534;
const GROUP_OF_MANY = 100;

interface Case {
  readonly it: string;
  /** Prepares a directory; the store is `home/cache/store` in it. */
  readonly prepare: (dir: string) => void;
  readonly says: RegExp;
}

const FILLED = /filled/;

const cases: readonly Case[] = [
  { it: 'whose parents are ours is filled', prepare: () => undefined, says: FILLED },
  {
    it: 'behind a link that others can replace is refused',
    prepare: (dir) => {
      mkdirSync(join(dir, 'open'));
      chmodSync(join(dir, 'open'), 0o777);
      mkdirSync(join(dir, 'home/real'));
      symlinkSync('../open/hop', join(dir, 'home/cache'));
      symlinkSync('../home/real', join(dir, 'open/hop'));
    },
    says: /others can write ".*\/open", and so/,
  },
  {
    it: 'behind a link of another account is refused',
    prepare: (dir) => {
      mkdirSync(join(dir, 'home/real'));
      symlinkSync('real', join(dir, 'home/cache'));
      lchownSync(join(dir, 'home/cache'), NOBODY, NOBODY);
    },
    says: /others can write ".*\/home\/cache", and so/,
  },
  {
    it: 'in a directory that a group of many can write is refused',
    prepare: (dir) => {
      chownSync(join(dir, 'home'), 0, GROUP_OF_MANY);
      chmodSync(join(dir, 'home'), 0o775);
    },
    says: /others can write ".*\/home", and so/,
  },
  {
    it: 'in a directory that the private group can write is not refused for that',
    prepare: (dir) => chmodSync(join(dir, 'home'), 0o775),
    says: /filled|others than root/,
  },
];

// Only root can give files to others.
for (const { it, prepare, says } of cases) {
  test.runIf(process.getuid?.() === 0)(`a store ${it}`, async (t) => {
    const dir = directoryWith(t, { 'home/x': '' });
    prepare(dir);
    const place = { storeDir: join(dir, 'home/cache/store'), version: '1.0.0' };
    const fill = (): Promise<string> => Promise.reject(new Error('filled'));
    await expect(keepPackage(place, fill)).rejects.toThrow(says);
  });
}
