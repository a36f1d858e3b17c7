import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** The paths of programs and libraries, and the time zone of log lines. */
const PASSED = ['PATH', 'LD_LIBRARY_PATH', 'TZ'];

/**
 * Returns the environment of programs that gw starts. The values that `${env:…}` names are often secret, and the
 * account of these programs, unlike that of the process that serves, can read their environment in /proc.
 */
export function helperEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    PASSED.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  );
}

/** Node 22.12 and 23.1 allow several threads to listen on one port (SO_REUSEPORT). */
export function sharesPorts(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > 23 || (major === 23 && minor >= 1) || (major === 22 && minor >= 12);
}

/** An account of the operating system. */
export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** Returns the account with this name, from `/etc/passwd` or from the system's other sources (LDAP, systemd). */
export function findAccount(name: string): Account | undefined {
  const [, , uid, gid] = entryOf('passwd', name) ?? [];
  return uid === undefined || gid === undefined ? undefined : { name, uid: Number(uid), gid: Number(gid) };
}

/** Returns the id of the group with this name. */
export function findGroup(name: string): number | undefined {
  const gid = entryOf('group', name)?.[2];
  return gid === undefined ? undefined : Number(gid);
}

/** Returns the account with this id, from `/etc/passwd` only. */
export function accountOfId(uid: number): Account | undefined {
  const fields = linesOf('passwd').find((entry) => entry[2] === String(uid));
  return fields && { name: fields[0] as string, uid, gid: Number(fields[3]) };
}

type Database = 'passwd' | 'group';

function entryOf(database: Database, name: string): readonly string[] | undefined {
  // Only names are looked up: getent accepts numeric ids, which nginx does not.
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
      env: helperEnvironment(),
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return line.trim().split(':');
  } catch {
    // getent does not know the name, or is missing.
    return undefined;
  }
}

/** Tells whether a process has this id, whatever account it runs as. False for an id that no process can have. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
