import type { Stats } from 'node:fs';
import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
} from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { rootPath } from '../../../system/index.ts';
import { storedPackage } from '../postgres-programs.ts';

/** Returns root's own directory for files that other accounts need. Throws if others could change its content. */
export async function rootDir(path: string): Promise<string> {
  // The mask of the process may be narrower.
  if (await mkdir(path, { recursive: true })) await chmod(path, 0o755);
  if (rootPath(join(path, 'name')) === undefined) throw new Error(`others than root can write "${path}"`);
  return path;
}

/** Makes the directory that only this account can write. Throws if others can, too. */
async function openStore(storeDir: string): Promise<string> {
  await refuseOpenParents(storeDir);
  if (process.getuid?.() === 0) return rootDir(storeDir);
  await mkdir(storeDir, { recursive: true, mode: 0o700 });
  await mustBeOurs(storeDir);
  return storeDir;
}

/** Returns the package in the store, if it is there. Throws if another account could have written into it. */
export async function inStore(storeDir: string): Promise<string | undefined> {
  const directory = storedPackage(storeDir);
  if (!(await isOurs(directory))) return undefined;
  await refuseOpenParents(storeDir);
  if (process.getuid?.() === 0 && rootPath(join(directory, 'native')) === undefined)
    throw new Error(`others than root can write "${storeDir}"`);
  return directory;
}

const STICKY = 0o1000;
const GROUP_WRITES = 0o020;
const OTHERS_WRITE = 0o002;

/**
 * Throws if others can exchange a directory: who can write one above it can rename what it contains, unless that one is sticky
 * as `/tmp` is. The account's own group may write.
 */
async function refuseOpenParents(path: string): Promise<void> {
  // A link leads through the directories around it, too. What is missing is made by this account.
  for (const from of new Set([resolve(path), await realpath(path).catch(() => resolve(path))])) {
    for (let above = dirname(from); ; above = dirname(above)) {
      const found = await stat(above).catch(() => undefined);
      if (found && isOpen(found))
        throw new Error(`others can write "${above}", and so put something else in the place of "${path}"`);
      if (above === dirname(above)) break;
    }
  }
}

function isOpen({ uid, gid, mode }: Stats): boolean {
  if (uid !== 0 && uid !== process.getuid?.()) return true;
  const writers = gid === process.getgid?.() ? OTHERS_WRITE : OTHERS_WRITE | GROUP_WRITES;
  return (mode & writers) !== 0 && (mode & STICKY) === 0;
}

/**
 * Puts a package with the programs into the store, once per version. `fill` gets an empty draft directory and returns
 * where in it the package is.
 */
export async function keepPackage(
  { storeDir, version }: { readonly storeDir: string; readonly version: string },
  fill: (draft: string) => Promise<string>,
): Promise<string> {
  const store = await openStore(storeDir);
  const kept = storedPackage(store, version);
  if (await isOurs(kept)) return kept;
  const draft = await mkdtemp(join(store, 'gw-pg-draft-'));
  try {
    const filled = await fill(draft);
    await linkLibraries(filled);
    await rename(filled, kept).catch(() => undefined);
    // Another gateway may have been faster, or another account may have taken the name.
    await mustBeOurs(kept);
    return kept;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** npm packages cannot contain symbolic links. A post-install script creates them, unless scripts are disabled. */
export async function linkLibraries(packageDir: string): Promise<void> {
  const list = await readFile(join(packageDir, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    // This fails if the link exists or the directory belongs to another account; running the program shows whether it
    // matters.
    await symlink(source.slice(dirname(source).length + 1), join(packageDir, target)).catch(() => undefined);
  }
}

async function mustBeOurs(dir: string): Promise<void> {
  if (!(await isOurs(dir))) throw new Error(`"${dir}" is not there`);
}

/** Returns whether the directory exists; throws if another account could have written into it. */
async function isOurs(dir: string): Promise<boolean> {
  const found = await lstat(dir).catch(() => undefined);
  if (!found) return false;
  if (found.isDirectory() && found.uid === (process.getuid?.() ?? 0) && (found.mode & 0o022) === 0)
    return true;
  throw new Error(`"${dir}" belongs to another account`);
}
