import { accessSync, constants } from 'node:fs';
import { dirname } from 'node:path';
import type { CoreConfig, UserConfig, WrittenFiles } from '../../contract/index.ts';
import { standardStream } from '../../log/index.ts';
import { type Account, findAccount, findGroup, systemFailure, systemReason } from '../../system/index.ts';

/** The account that this process becomes before it serves; `undefined` if it keeps its own. An unknown name fails in nginx's words. */
export function servingAccount({ user }: CoreConfig): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const account = user ? accountOf(user) : nobody();
  return account.uid === 0 ? undefined : account;
}

function accountOf({ name, group, place: { file, line, column } }: UserConfig): Account {
  const account = findAccount(name);
  if (!account) throw new Error(`getpwnam("${name}") failed in ${file}:${line}:${column}`);
  // nginx wants a group of the user's name where none is given; Debian's "nobody" has none.
  const gid = group === undefined ? (findGroup(name) ?? account.gid) : findGroup(group);
  if (gid === undefined) throw new Error(`getgrnam("${group}") failed in ${file}:${line}:${column}`);
  return { ...account, gid };
}

/** nginx's default. */
function nobody(): Account {
  const account = findAccount('nobody');
  if (!account) throw new Error('getpwnam("nobody") failed: name the account that serves with "user"');
  return { ...account, gid: findGroup('nobody') ?? account.gid };
}

/** What the types of Node.js lack. */
type GroupSetter = NodeJS.Process & { readonly initgroups?: (user: string, group: number) => void };

/**
 * Becomes the account, with its groups, for good: in every thread that there is or will be (setuid(2) of the C library), and
 * without a capability, which Linux takes with the last user id of root. Fails when the system does not let it.
 */
export function become({ name, uid, gid }: Account): void {
  const self: GroupSetter = process;
  const steps: readonly (readonly [call: string, act: () => void])[] = [
    [`initgroups("${name}", ${gid})`, () => self.initgroups?.(name, gid)],
    [`setgid(${gid})`, () => process.setgid?.(gid)],
    [`setuid(${uid})`, () => process.setuid?.(uid)],
  ];
  for (const [call, act] of steps) {
    try {
      act();
    } catch (error) {
      throw new Error(`${call} failed (${systemReason(error)})`, { cause: error });
    }
  }
  if (canBeRootAgain()) throw new Error(`root rights cannot be given up for "${name}"`);
}

function canBeRootAgain(): boolean {
  try {
    process.setuid?.(0);
    return true;
  } catch {
    return process.getuid?.() === 0 || process.geteuid?.() === 0;
  }
}

/** Fails when this account cannot read the program's own files: a worker could not start. */
export function checkProgram({ name }: Account, file: string): void {
  try {
    accessSync(file, constants.R_OK);
  } catch (error) {
    throw new Error(
      `user "${name}" cannot read "${file}" (${systemReason(error)}): install gw where every user can read it, or set "user"`,
      { cause: error },
    );
  }
}

/** Fails where this account cannot write a log or a directory: nginx too starts with logs that are open, or not at all. */
export function checkWritable({ name }: Account, { files, directories }: Required<WrittenFiles>): void {
  for (const path of [...files, ...directories]) {
    if (standardStream(path) !== undefined) continue;
    try {
      accessSync(path, constants.W_OK);
    } catch (error) {
      if (mayBeMade(path, error)) continue;
      throw new Error(`${systemFailure('open', path, error)} for user "${name}"`, { cause: error });
    }
  }
}

/** The file is not there, but the account can make it. */
function mayBeMade(path: string, error: unknown): boolean {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return false;
  try {
    accessSync(dirname(path), constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
