import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { Bench, FULL, QUICK } from './bench.ts';
import { type Options, readOptions, USAGE } from './options.ts';
import { NotInstalled } from './programs.ts';
import type { Finding, Row } from './row.ts';
import { renderTable } from './table.ts';

/** A run that takes longer than this waits for a program that is lost. */
const LONGEST_RUN_MS = 590_000;

async function main(options: Options): Promise<number> {
  const findings: Finding[] = [];
  for (const row of options.rows) {
    process.stderr.write(`${row.name} …\n`);
    findings.push(...(await runRow(row, options)));
  }
  console.log(renderTable(findings));
  if (options.json !== undefined)
    writeFileSync(options.json, `${JSON.stringify(report(findings), null, 2)}\n`);
  return findings.some(({ verdict }) => verdict === 'failed') ? 1 : 0;
}

let current: Bench | undefined;

/** The lines of a row; a row that cannot be measured becomes one line that says why, and the others go on. */
async function runRow(row: Row, { quick, profile }: Options): Promise<Finding[]> {
  const profileDir = profile === row.name ? `dist/profiles/${row.name}` : undefined;
  if (profileDir !== undefined) mkdirSync(profileDir, { recursive: true });
  const bench = (current = new Bench(quick ? QUICK : FULL, profileDir));
  const line = { subject: row.name, result: '', goal: '' };
  try {
    return await row.run(bench);
  } catch (error) {
    if (error instanceof NotInstalled) return [{ ...line, verdict: 'skipped', note: error.message }];
    return [{ ...line, verdict: 'failed', note: String(error) }];
  } finally {
    await bench.close();
  }
}

function report(findings: readonly Finding[]): unknown {
  const { version, platform, arch } = process;
  return { at: new Date().toISOString(), node: version, platform, arch, cpus: cpus().length, findings };
}

/** Ends what the current row has started, then this process. */
function giveUp(reason: string, exitCode: number): void {
  process.stderr.write(`bench: ${reason}\n`);
  const end = () => process.exit(exitCode);
  (current?.close() ?? Promise.resolve()).then(end, end);
}

const options = readOptions(process.argv.slice(2));
if (typeof options === 'string') {
  process.stderr.write(`bench: ${options}\n${USAGE}`);
  process.exitCode = 1;
} else {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => giveUp(signal, 130));
  setTimeout(() => giveUp('the run took too long', 1), LONGEST_RUN_MS).unref();
  process.exitCode = await main(options);
}
