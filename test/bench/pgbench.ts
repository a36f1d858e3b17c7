import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench } from './bench.ts';
import type { Contender } from './compare.ts';
import type { Database, SeenStatement } from './database.ts';
import { childrenOf, cpuSeconds, endedChildrenCpuSeconds } from './process-tree.ts';
import { programPath, runProgram } from './programs.ts';

export interface PgbenchLoad {
  readonly database: Database;
  /** The statements that one transaction sends in one pipeline. */
  readonly statements: readonly SeenStatement[];
  /** The value that stands for the key: pgbench takes a random number up to `keys` instead. */
  readonly key: string;
  readonly keys: number;
  readonly connections: number;
}

/** pgbench with prepared statements, pipelined; its CPU time counts like the gateway's, beside the database's. */
export async function pgbench(bench: Bench, load: PgbenchLoad): Promise<Contender> {
  const program = programPath('pgbench');
  const { database, connections } = load;
  const { script, variables } = scriptOf(load);
  const file = join(bench.dir, 'read.pgbench');
  writeFileSync(file, script);
  const login = ['-h', database.host, '-p', String(database.port), '-U', 'authenticator', 'postgres'];
  const common = ['-n', '-M', 'prepared', '-c', String(connections), '-f', file];
  const values = Object.entries(variables).flatMap(([name, value]) => ['-D', `${name}=${value}`]);

  const run = async (length: readonly string[]) => {
    const clock = () => cpuSeconds([database.pid]) + endedChildrenCpuSeconds();
    const before = clock();
    const servers = childrenOf(database.pid);
    const output = await runProgram(program, [...common, ...length, ...values, ...login]);
    // The CPU time of the sessions is known once the database has noticed their end.
    while (childrenOf(database.pid) > servers) await sleep(5);
    return { output, cpuSeconds: clock() - before };
  };
  // Connecting and preparing happen once in a gateway's life; here they would burden every round.
  const opening = await run(['-t', '1']);
  const round = async (seconds: number) => {
    const { output, ...used } = await run(['-T', String(seconds)]);
    return { ...readPgbench(output), cpuSeconds: used.cpuSeconds - opening.cpuSeconds };
  };
  return { name: 'pgbench', round };
}

function scriptOf({ statements, key, keys }: PgbenchLoad): {
  script: string;
  variables: Record<string, string>;
} {
  const variables: Record<string, string> = {};
  const lines = statements.map(({ text, values }, statement) => {
    const bound = text.replace(/\$(\d+)/g, (_, number: string) => {
      const value = values[Number(number) - 1] ?? '';
      if (value === key) return ':key';
      // pgbench refuses an empty variable.
      if (value === '') return `''`;
      variables[`v${statement}_${number}`] = value;
      return `:v${statement}_${number}`;
    });
    return `${bound};`;
  });
  const script = [`\\set key random(1, ${keys})`, '\\startpipeline', ...lines, '\\endpipeline', ''].join(
    '\n',
  );
  return { script, variables };
}

function readPgbench(output: string): { requests: number; seconds: number } {
  const [, done] = /transactions actually processed: (\d+)/.exec(output) ?? [];
  const [, perSecond] = /^tps = ([\d.]+)/m.exec(output) ?? [];
  if (done === undefined || perSecond === undefined)
    throw new Error(`pgbench said something unexpected: ${output}`);
  return { requests: Number(done), seconds: Number(done) / Number(perSecond) };
}
