import { chmodSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import { launch, type Launched } from './launch.ts';
import type { Owner } from './owner.ts';

const REPO = resolve(import.meta.dirname, '../..');

export interface ProgramOptions {
  readonly args?: readonly string[];
  /** As `nobody` when the tests run as root. */
  readonly unprivileged?: boolean;
}

/**
 * Runs TypeScript in a process of its own, because a test cannot die or become another user itself. `~/` in an
 * import is the root of the repository. Resolves at its first line of output.
 */
export async function startProgram(
  t: Owner,
  source: string,
  options: ProgramOptions = {},
): Promise<Launched> {
  const { args = [], unprivileged = false } = options;
  const dir = mkdtempSync(join(tmpdir(), 'gw-program-'));
  chmodSync(dir, 0o755);
  symlinkSync(join(REPO, 'node_modules'), join(dir, 'node_modules'));
  const entry = join(dir, 'program.ts');
  const outfile = join(dir, 'program.mjs');
  writeFileSync(entry, source.replaceAll(`'~/`, `'${REPO}/`));
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
  });

  const asNobody = ['--reuid=nobody', '--regid=nogroup', '--clear-groups', process.execPath];
  const isOther = unprivileged && process.getuid?.() === 0;
  const [command, leading] = isOther ? ['setpriv', asNobody] : [process.execPath, []];
  const program = launch(command, [...leading, outfile, ...args], { cwd: dir });
  t.onTestFinished(async () => {
    await program.stop('SIGKILL');
    rmSync(dir, { recursive: true });
  });
  await program.waitForOutput(/\n/);
  return program;
}
