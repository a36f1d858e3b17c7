import { createRequire } from 'node:module';
import { Readable } from 'node:stream';
import { vi } from 'vitest';
import { gw, type Said } from './command.ts';

/** The built program, as `gw` is. */
const { main } = createRequire(import.meta.url)(
  '../../dist/bin/main.cjs',
) as typeof import('../../bin/main.ts');

type Run = typeof gw;

/**
 * For tests of what a command line prints and how it ends: the first one is run by a program of its own, as a user starts
 * it, and the others by the same code in this process, which takes a tenth of the time.
 */
export function firstAsProgram(): Run {
  let runs = 0;
  return (...commandLine) => (runs++ === 0 ? gw(...commandLine) : gwHere(...commandLine));
}

let last: Promise<unknown> = Promise.resolve();

/**
 * Runs a command line in this process: from this directory, in this environment, with an empty standard input. One that
 * serves, or that reads standard input as a file, needs a program of its own.
 */
function gwHere(...[dir, args, env]: Parameters<Run>): Promise<Said> {
  // Directory, environment and output are those of the process, so that one command line has them at a time.
  const said = last.then(() => runFrom(dir, args, env));
  last = said.catch(() => undefined);
  return said;
}

async function runFrom(dir: string, args: readonly string[], env?: NodeJS.ProcessEnv): Promise<Said> {
  const [home, variables] = [process.cwd(), { ...process.env }];
  const [stdout, stderr, endInput] = [capture('stdout'), capture('stderr'), giveNoInput()];
  try {
    process.chdir(dir);
    setEnvironment({ ...variables, ...env });
    const code = await main(args);
    const masked = (text: string): string => text.replaceAll(dir, 'DIR');
    return { code, stdout: masked(stdout.text()), stderr: masked(stderr.text()) };
  } finally {
    process.chdir(home);
    setEnvironment(variables);
    for (const end of [stdout.end, stderr.end, endInput]) end();
  }
}

/** Keeps what is written to a stream, and removes the listeners that a process would take with it. */
function capture(name: 'stdout' | 'stderr'): { text: () => string; end: () => void } {
  const stream = process[name];
  const chunks: Buffer[] = [];
  const write = vi.spyOn(stream, 'write').mockImplementation((chunk) => {
    chunks.push(Buffer.from(chunk));
    return true;
  });
  const before = stream.listeners('error');
  const end = (): void => {
    write.mockRestore();
    for (const listener of stream.listeners('error'))
      if (!before.includes(listener)) stream.off('error', listener as () => void);
  };
  return { text: () => Buffer.concat(chunks).toString(), end };
}

function giveNoInput(): () => void {
  const own = Object.getOwnPropertyDescriptor(process, 'stdin') ?? {};
  Object.defineProperty(process, 'stdin', { value: Readable.from([]), configurable: true });
  return () => void Object.defineProperty(process, 'stdin', own);
}

function setEnvironment(variables: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) if (variables[name] === undefined) delete process.env[name];
  for (const [name, value] of Object.entries(variables)) if (value !== undefined) process.env[name] = value;
}
