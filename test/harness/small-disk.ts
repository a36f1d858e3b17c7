import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Owner } from './owner.ts';

/** Mounts a file system of its own, so that it can be full; `undefined` if this account cannot. */
export function smallDisk(t: Owner, size: `${number}${'k' | 'm'}`): string | undefined {
  const dir = mkdtempSync(join(tmpdir(), 'gw-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=0777`, 'tmpfs', dir], { stdio: 'ignore' });
  } catch {
    rmSync(dir, { recursive: true });
    return undefined;
  }
  t.onTestFinished(async () => {
    execFileSync('umount', ['-l', dir]);
    rmSync(dir, { recursive: true });
  });
  return dir;
}
