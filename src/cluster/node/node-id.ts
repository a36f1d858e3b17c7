import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { ErrorLog } from '../../log/index.ts';
import { makeDirectorySync, systemFailure } from '../../system/index.ts';

/** The form of the name of a node. */
export const NODE_ID = /^[\w.-]{1,64}$/;

/** Returns a name for a node without one in its configuration. It is kept in a file for the next start. */
export function keptNodeId(statePath: string, log: ErrorLog): string {
  const path = join(statePath, 'node_id');
  try {
    const kept = readFileSync(path, 'utf8').trim();
    if (NODE_ID.test(kept)) return kept;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      log.write('error', systemFailure('open', path, error));
  }
  const host = hostname()
    .replace(/[^\w.-]/g, '-')
    .slice(0, 40);
  const made = `${host === '' ? 'node' : host}-${randomBytes(3).toString('hex')}`;
  try {
    makeDirectorySync(statePath);
    writeFileSync(path, `${made}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    log.write('error', systemFailure('write', path, error));
  }
  return made;
}
