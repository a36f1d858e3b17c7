import { execFile } from 'node:child_process';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Actor } from '../actor.ts';
import { configuration } from '../configuration.ts';
import { GW } from '../gateway.ts';
import { mutate } from '../mutate.ts';

const EXAMPLES = 'conf/examples';
/** In CPU time: other load on the machine does not count. */
const VERDICT_SECONDS = 5;
const GIVES_UP_MS = 60_000;
const MAX_MEMORY_MB = 512;

/** A refusal ends with `in FILE:LINE`; one that concerns no line names the file. */
const PLACE = /^gw: \[emerg\] .* in \S+:\d+(:\d+)?$/m;
const STACK = /^ +at \S.*\(?.*:\d+:\d+\)?$/m;

/** Changed configurations: `gw -t` comes to a verdict on each, and each refusal names its place. */
export const configurations: Actor = {
  name: 'configurations',
  // Starting the program without a pause would take a whole core away from the gateway.
  restMs: 250,
  limitMs: GIVES_UP_MS + 5_000,
  async act({ random, stage, count, violation }) {
    const { dir } = stage.sites;
    const names = readdirSync(EXAMPLES).filter((name) => name.endsWith('.conf'));
    const text = random.chance(0.4)
      ? configuration(stage.sites, 1)
      : readFileSync(join(EXAMPLES, random.pick(names)), 'utf8');
    const mutant = mutate(text, random, 3);
    const file = join(dir, 'mutant.conf');
    writeFileSync(file, mutant);
    const { code, signal, output } = await test(file, dir);
    if (signal !== null)
      violation(
        `gw -t takes more than ${VERDICT_SECONDS} s of CPU time or ${MAX_MEMORY_MB} MB (${signal})`,
        mutant,
      );
    else if (code === 0) count('taken');
    else if (code === 1) count('refused');
    else violation(`gw -t ends with ${code}`, `${output.slice(0, 1500)} <- ${mutant.toString('latin1')}`);
    if (code === 1 && !PLACE.test(output))
      violation('a refusal names no place', `${output.slice(0, 1500)} <- ${mutant.toString('latin1')}`);
    if (STACK.test(output))
      violation('gw -t shows a stack trace', `${output.slice(0, 1500)} <- ${mutant.toString('latin1')}`);
  },
};

interface Verdict {
  readonly code: number | null;
  readonly signal: string | null;
  readonly output: string;
}

function test(file: string, dir: string): Promise<Verdict> {
  const limited = `ulimit -t ${VERDICT_SECONDS} && exec "$@"`;
  const gw = [process.execPath, `--max-old-space-size=${MAX_MEMORY_MB}`, GW, '-t', '-p', dir, '-c', file];
  const options = { timeout: GIVES_UP_MS, killSignal: 'SIGKILL' } as const;
  return new Promise((resolve) => {
    const child = execFile('/bin/sh', ['-c', limited, 'sh', ...gw], options, (_, stdout, stderr) =>
      resolve({ code: child.exitCode, signal: child.signalCode, output: stdout + stderr }),
    );
  });
}
