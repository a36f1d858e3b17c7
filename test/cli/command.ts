import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { GW } from '../harness/gateway.ts';
import type { Owner } from '../harness/owner.ts';
import { start } from '../harness/starter.ts';

/** What a command line printed, and how it ended. The test's directory shows as `DIR`. */
export interface Said {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The surroundings of a program besides its arguments. */
interface Surroundings {
  readonly env?: NodeJS.ProcessEnv;
  /** Standard input; empty where it is absent. */
  readonly input?: string;
}

/** Runs a program to its end in a directory. */
export async function runIn(
  dir: string,
  [command = '', ...args]: readonly string[],
  { env, input }: Surroundings = {},
): Promise<Said> {
  const texts = { stdout: '', stderr: '' };
  const code = await new Promise<number | null>((resolve, reject) => {
    let ended: number | null = null;
    start({ command, args, cwd: dir, env: { ...process.env, ...env }, input: input ?? '' }, (told) => {
      if (told.type === 'stdout' || told.type === 'stderr') texts[told.type] += told.text;
      else if (told.type === 'ended') ended = told.code;
      else if (told.type === 'closed') resolve(ended);
      else if (told.type === 'failed') reject(new Error(told.reason));
    });
  });
  const [stdout, stderr] = [texts.stdout, texts.stderr].map((text) => text.replaceAll(dir, 'DIR'));
  return { code, stdout: stdout ?? '', stderr: stderr ?? '' };
}

/** `gw` with these arguments. */
export function gw(dir: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Said> {
  return runIn(dir, [process.execPath, GW, ...args], { env });
}

/** The same with a text on its standard input. */
export function gwWith(dir: string, args: readonly string[], input: string): Promise<Said> {
  return runIn(dir, [process.execPath, GW, ...args], { input });
}

/** A directory with these files, which the end of the test removes. */
export function directoryWith(t: Owner, files: Readonly<Record<string, string>>): string {
  const dir = mkdtempSync(join(tmpdir(), 'gw-cli-'));
  // A gateway that root starts serves as another account, which needs access to this directory.
  chmodSync(dir, 0o711);
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), content);
  }
  t.onTestFinished(async () => rmSync(dir, { recursive: true }));
  return dir;
}

export const HAS_NGINX = spawnSync('nginx', ['-v']).error === undefined;
