import type { Stats } from 'node:fs';
import { chmod, lstat, mkdir, mkdtemp, readFile, readlink, rename, rm, symlink } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve, sep } from 'node:path';
import { accountOfId, findGroup, rootPath } from '../../../system/index.ts';
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
  // Others may have made what was missing before.
  await refuseOpenParents(storeDir);
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
/** As in Linux. */
const MOST_LINKS = 40;

/**
 * Throws if others can exchange a directory: who can write one above it can rename what it contains, unless that one is sticky
 * as `/tmp` is, and who owns a link can change it. The account's private group may write.
 */
async function refuseOpenParents(path: string): Promise<void> {
  const isPrivate = privateGroup();
  for (const passed of await passedOn(path)) {
    // What is missing is made by this account.
    const found = await lstat(passed).catch(() => undefined);
    if (found && isOpen(found, isPrivate))
      throw new Error(`others can write "${passed}", and so put something else in the place of "${path}"`);
  }
}

/** Returns the directories and links that a path leads through, without its last directory. */
async function passedOn(path: string): Promise<ReadonlySet<string>> {
  const passed = new Set<string>();
  const names = namesOf(resolve(path));
  let at: string = sep;
  for (let links = 0, name = names.shift(); name !== undefined; name = names.shift()) {
    passed.add(at);
    const next = join(at, name);
    const target = name === '..' ? undefined : await readlink(next).catch(() => undefined);
    if (target === undefined) at = next;
    else {
      if (++links > MOST_LINKS) throw new Error(`"${path}" leads over too many links`);
      passed.add(next);
      names.unshift(...namesOf(target));
      if (isAbsolute(target)) at = sep;
    }
  }
  return passed;
}

function namesOf(path: string): string[] {
  return path.split(sep).filter((name) => name !== '' && name !== '.');
}

function isOpen(found: Stats, isPrivate: (gid: number) => boolean): boolean {
  const { uid, gid, mode } = found;
  if (uid !== 0 && uid !== process.getuid?.()) return true;
  // The mode of a link means nothing.
  if (found.isSymbolicLink()) return false;
  const writers = isPrivate(gid) ? OTHERS_WRITE : OTHERS_WRITE | GROUP_WRITES;
  return (mode & writers) !== 0 && (mode & STICKY) === 0;
}

/** Returns what tells whether a group is that of this account only: its primary one, with the same id or name. */
function privateGroup(): (gid: number) => boolean {
  const [uid, own] = [process.getuid?.(), process.getgid?.()];
  const name = uid === undefined || own === uid ? undefined : accountOfId(uid)?.name;
  const isOwn = own === uid || (name !== undefined && findGroup(name) === own);
  return (gid) => isOwn && gid === own;
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
