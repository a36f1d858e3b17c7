import { resolve } from 'node:path';
import { runProgram } from '../programs.ts';
import { CONNECTIONS, type Target } from '../target.ts';
import type { Load, LoadResult } from './protocol.ts';

const PROGRAM = resolve('dist/test/bench/generator/main.js');

/** Runs the load generator, in a process of its own, to its end. */
export async function generate(
  { port, traffic = 'http', requests, connections: lanes = CONNECTIONS }: Target,
  pace: Pick<Load, 'rate' | 'seconds' | 'warmUpSeconds'>,
): Promise<LoadResult> {
  const load: Load = { port, traffic, requests, lanes, ...pace };
  return JSON.parse(await runProgram(process.execPath, [PROGRAM, JSON.stringify(load)])) as LoadResult;
}
