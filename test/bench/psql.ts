import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench } from './bench.ts';
import type { Contender } from './compare.ts';
import type { Database, SeenStatement } from './database.ts';
import { cpuSeconds, endedChildrenCpuSeconds } from './process-tree.ts';
import { programPath, runProgram } from './programs.ts';

/** Transactions of one run of psql: its own start then hardly counts. */
const TRANSACTIONS = 20;

/** psql sending the statements with their values written into them; its CPU time counts, and the database's. */
export async function psql(
  bench: Bench,
  { database, statements }: { database: Database; statements: readonly SeenStatement[] },
): Promise<Contender> {
  const program = programPath('psql');
  const file = join(bench.dir, 'write.sql');
  const transaction = ['begin', ...statements.map(literalText), 'commit', ''].join(';\n');
  writeFileSync(file, transaction.repeat(TRANSACTIONS));
  const login = ['-h', database.host, '-p', String(database.port), '-U', 'authenticator', 'postgres'];
  const args = [...login, '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-o', '/dev/null', '-f', file];
  const clock = () => cpuSeconds([database.pid]) + endedChildrenCpuSeconds();

  const round = async (seconds: number) => {
    const before = clock();
    const startMs = performance.now();
    let requests = 0;
    while (performance.now() - startMs < seconds * 1000) {
      await runProgram(program, args);
      requests += TRANSACTIONS;
    }
    return { requests, seconds: (performance.now() - startMs) / 1000, cpuSeconds: clock() - before };
  };
  return { name: 'psql', round };
}

function literalText({ text, values }: SeenStatement): string {
  return text.replace(/\$(\d+)/g, (_, number: string) => {
    return `'${(values[Number(number) - 1] ?? '').replaceAll(`'`, `''`)}'`;
  });
}
