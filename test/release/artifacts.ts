import { execFile } from 'node:child_process';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const ROOT = resolve(import.meta.dirname, '../..');
/** The version that artifacts of tests have. */
export const VERSION = '9.8.7';

/** Makes an artifact of the checkout and its build, in a process of its own as a release does. */
export async function makeArtifact(
  artifact: string,
  out: string,
  env: NodeJS.ProcessEnv = {},
): Promise<void> {
  const maker = pathToFileURL(join(ROOT, `bin/build/release/${artifact}.mjs`)).href;
  const code = `const { make } = await import('${maker}'); await make(JSON.parse(process.argv[1]));`;
  const release = JSON.stringify({ out, version: VERSION, source: ROOT, epoch: 1_700_000_000 });
  await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code, release], {
    env: { ...process.env, ...env },
  });
}
