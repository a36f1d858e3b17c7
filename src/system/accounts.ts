import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** An account of the operating system that a process can become. */
export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** The account with this name: from `/etc/passwd`, else from wherever the system knows accounts (LDAP, systemd). */
export function findAccount(name: string): Account | undefined {
  const [, , uid, gid] = entryOf('passwd', name) ?? [];
  return uid === undefined || gid === undefined ? undefined : { name, uid: Number(uid), gid: Number(gid) };
}

/** The id of the group with this name. */
export function findGroup(name: string): number | undefined {
  const gid = entryOf('group', name)?.[2];
  return gid === undefined ? undefined : Number(gid);
}

/** The account with this id, from `/etc/passwd` alone. */
export function accountOfId(uid: number): Account | undefined {
  const fields = linesOf('passwd').find((entry) => entry[2] === String(uid));
  return fields && { name: fields[0] as string, uid, gid: Number(fields[3]) };
}

type Database = 'passwd' | 'group';

function entryOf(database: Database, name: string): readonly string[] | undefined {
  // Names only: getent takes numbers for ids, which nginx does not.
  if (!/^[^\s:\d-][^\s:]*$/.test(name)) return undefined;
  return linesOf(database).find(([first]) => first === name) ?? askSystem(database, name);
}

function linesOf(database: Database): readonly (readonly string[])[] {
  try {
    return readFileSync(`/etc/${database}`, 'utf8')
      .split('\n')
      .map((line) => line.split(':'));
  } catch {
    return [];
  }
}

function askSystem(database: Database, name: string): readonly string[] | undefined {
  try {
    const line = execFileSync('getent', [database, name], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return line.trim().split(':');
  } catch {
    // Unknown there as well, or no such program.
    return undefined;
  }
}
