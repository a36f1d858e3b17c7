import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** Runs a program and returns its standard output. Rejects with what it printed if it fails. */
export async function run(program, args, options = {}) {
  try {
    const { stdout } = await execute(program, args, { maxBuffer: 1 << 28, ...options });
    return stdout;
  } catch (error) {
    const said = [error.stderr, error.stdout].map((text) => text?.toString().trim()).find((text) => text);
    throw new Error(`${[program, ...args].join(' ')}: ${said ?? error.message}`, { cause: error });
  }
}
