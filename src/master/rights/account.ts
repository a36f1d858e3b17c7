import { accessSync, constants, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { CoreConfig, UserConfig } from '../../contract/index.ts';
import { handOverPipes, type LogOpener, openFailure, standardStream } from '../../log/index.ts';
import { type Account, findAccount, findGroup, systemFailure, systemReason } from '../../system/index.ts';
import type { OpenedLogs } from './protocol.ts';

/**
 * Returns the account that this process becomes before it serves; `undefined` if it keeps its own. Throws in nginx's
 * words if the name is unknown.
 */
export function servingAccount({ user }: CoreConfig): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const account = user ? accountOf(user) : nobody();
  return account.uid === 0 ? undefined : account;
}

function accountOf({ name, group, place: { file, line, column } }: UserConfig): Account {
  const account = findAccount(name);
  if (!account) throw new Error(`getpwnam("${name}") failed in ${file}:${line}:${column}`);
  // nginx requires a group with the user's name if none is given; Debian's "nobody" has none.
  const gid = group === undefined ? (findGroup(name) ?? account.gid) : findGroup(group);
  if (gid === undefined) throw new Error(`getgrnam("${group}") failed in ${file}:${line}:${column}`);
  return { ...account, gid };
}

/** Returns nginx's default account, with the account's own group, which has another name on Debian. */
function nobody(): Account {
  const account = findAccount('nobody');
  if (!account) throw new Error('getpwnam("nobody") failed: name the account that serves with "user"');
  return account;
}

/** A function that the types of Node.js lack. */
type GroupSetter = NodeJS.Process & { readonly initgroups?: (user: string, group: number) => void };

/**
 * Changes permanently to the account with its groups, in all present and future threads (setuid(2) of the C library),
 * and without capabilities, which Linux clears with root's last user id. Throws if the system does not allow it.
 */
export function become({ name, uid, gid }: Account): void {
  handOverPipes(uid);
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

/** Throws if this account cannot read the program's own files, because workers could not start. */
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

/** The logs of a configuration, and the faults of those that root could not open before. */
interface CheckedLogs {
  readonly files: readonly string[];
  readonly faults?: OpenedLogs['faults'];
  readonly opener: LogOpener;
}

/** Throws if a log cannot be opened. nginx does not start without its logs either. */
export function checkLogs(account: Account | undefined, logs: CheckedLogs): void {
  const [first] = logFaults(account, logs);
  if (first !== undefined) throw new Error(first);
}

/**
 * Returns a message for each log that this process cannot open. `account`: the one that has taken the place of root;
 * where root could not open the log either, the message is root's own.
 */
export function logFaults(
  account: Account | undefined,
  { files, faults = {}, opener }: CheckedLogs,
): readonly string[] {
  return files.flatMap((path) => {
    if (standardStream(path) !== undefined) return [];
    try {
      opener.check(path);
      return [];
    } catch (error) {
      if (!account) return openFailure(path, error);
      const failure = `${systemFailure('open', path, error)} for user "${account.name}"`;
      return faults[path] ?? `${failure}${remedyFor(path)}`;
    }
  });
}

/** Throws if this account, or without one the present user, can neither write nor create a directory. */
export function checkWritable(account: Account | undefined, directories: readonly string[]): void {
  const [first] = writeFaults(account, directories);
  if (first !== undefined) throw new Error(first);
}

/** Returns a message for each directory that the account, or without one the present user, can neither write nor create. */
export function writeFaults(account: Account | undefined, directories: readonly string[]): readonly string[] {
  return [...new Set(directories)].flatMap((path) => {
    try {
      // The dot: a file is no directory.
      accessSync(`${path}/.`, constants.W_OK);
      return [];
    } catch (error) {
      const failure = isMissing(error) ? makeFailure(path) : systemFailure('open', path, error);
      return failure === undefined ? [] : `${failure}${account ? ` for user "${account.name}"` : ''}`;
    }
  });
}

/** Returns the remedy for a file of root. Another account may own its directory and have put the file there. */
function remedyFor(path: string): string {
  try {
    return statSync(path).uid === 0 ? '; chown the file, or let nobody but root write its directory' : '';
  } catch {
    return '';
  }
}

/** Returns why a directory that does not exist cannot be created, with its parents; `undefined` if it can. */
function makeFailure(path: string, above = dirname(path)): string | undefined {
  try {
    accessSync(`${above}/.`, constants.W_OK);
    return undefined;
  } catch (error) {
    if (isMissing(error) && dirname(above) !== above) return makeFailure(path, dirname(above));
    return systemFailure('mkdir', path, error);
  }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}
