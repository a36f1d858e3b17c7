import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { accountOfId, findAccount } from '../../../config/index.ts';

/** The operating-system account that PostgreSQL runs as. The ids are absent when it is our own. */
export interface Account {
  readonly name: string;
  readonly uid?: number;
  readonly gid?: number;
}

/**
 * PostgreSQL refuses to run as root: root hands it to the owner of an existing data directory, else to the account that
 * serves, else to `postgres`, else to `nobody`. Throws when root finds none of them.
 */
export async function chooseAccount(dataDir: string, servedBy?: Account): Promise<Account> {
  if (process.getuid?.() !== 0) return { name: 'you' };
  const owner = await stat(dataDir).catch(() => undefined);
  const chosen =
    (owner && owner.uid !== 0 ? accountOfId(owner.uid) : undefined) ??
    servedBy ??
    findAccount('postgres') ??
    findAccount('nobody');
  if (!chosen)
    throw new Error('PostgreSQL refuses to run as root and there is neither a user "postgres" nor "nobody"');
  return chosen;
}

/** Runs a program to its end as `account`; `output` is both its streams. Never throws. */
export function runAs(
  account: Account,
  program: string,
  args: readonly string[],
): Promise<{ ok: boolean; output: string }> {
  const options = { ...idsOf(account), cwd: '/', env: serverEnvironment() };
  return new Promise((resolve) => {
    execFile(program, args, options, (error, stdout, stderr) => {
      const output = `${stdout}${stderr}`.trim();
      resolve({ ok: error === null, output: output || (error?.message ?? '') });
    });
  });
}

/** What `spawn` needs to change to the account; empty for our own. */
export function idsOf({ uid, gid }: Account): { uid?: number; gid?: number } {
  return { ...(uid === undefined ? {} : { uid }), ...(gid === undefined ? {} : { gid }) };
}

/** PG* variables of the operator are meant for clients: PGPORT, for one, would move the server. */
export function serverEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'], TZ: process.env['TZ'], LC_ALL: 'C' };
}
