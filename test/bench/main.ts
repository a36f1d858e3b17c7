import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { dirname } from 'node:path';
import { Bench } from './bench.ts';
import { type PacedRow, readOptions, type Run, USAGE } from './options.ts';
import { drawPicture, type Report } from './picture.ts';
import { NotInstalled } from './programs.ts';
import { emptyLine, type Finding } from './row.ts';
import type { GroupName } from './rows/index.ts';
import { renderTable } from './table.ts';

/** A run that takes longer than this waits for a program that is lost. */
const LONGEST_RUN_MS = 590_000;

const PICTURE = 'conf/images/bench.svg';
/** The groups whose ratios it has. */
const PICTURED = ['goals', 'https'] as const satisfies readonly GroupName[];
const fileOf = (group: string): string => `dist/bench/${group}.json`;
const readReport = (group: string): Report => JSON.parse(readFileSync(fileOf(group), 'utf8')) as Report;

async function measure(run: Run): Promise<number> {
  const findings: Finding[] = [];
  for (const row of run.rows) {
    process.stderr.write(`${row.row.name} …\n`);
    findings.push(...(await runRow(row, run.profile)));
  }
  console.log(renderTable(findings));
  const text = `${JSON.stringify(report(findings), null, 2)}\n`;
  for (const file of [run.json, run.group && fileOf(run.group)]) {
    if (file === undefined) continue;
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  return findings.some(({ verdict }) => verdict === 'failed') ? 1 : 0;
}

let current: Bench | undefined;

/** The lines of a row; a row that cannot be measured becomes one line that says why, and the others go on. */
async function runRow({ row, pace }: PacedRow, profile?: string): Promise<Finding[]> {
  const profileDir = profile === row.name ? `dist/profiles/${row.name}` : undefined;
  if (profileDir !== undefined) {
    mkdirSync(profileDir, { recursive: true });
    // The gateway of root gives its rights up.
    chmodSync(profileDir, 0o777);
  }
  const bench = (current = new Bench(pace, profileDir));
  try {
    return await row.run(bench);
  } catch (error) {
    if (error instanceof NotInstalled) return [emptyLine(row.name, 'skipped', error.message)];
    return [emptyLine(row.name, 'failed', String(error))];
  } finally {
    await bench.close();
  }
}

function report(findings: readonly Finding[]): Report {
  const { version, platform, arch } = process;
  const [processor] = cpus();
  const machine = `${cpus().length} cores of ${processor?.model ?? 'an unknown processor'}`;
  return { at: new Date().toISOString(), node: version, platform, arch, machine, findings };
}

/** Ends what the current row has started, then this process. */
function giveUp(reason: string, exitCode: number): void {
  process.stderr.write(`bench: ${reason}\n`);
  const end = () => process.exit(exitCode);
  (current?.close() ?? Promise.resolve()).then(end, end);
}

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  if (options === 'help') {
    process.stdout.write(USAGE);
    return 0;
  }
  if (options === 'picture') {
    writeFileSync(PICTURE, drawPicture(PICTURED.map(readReport)));
    console.log(`wrote ${PICTURE}`);
    return 0;
  }
  if ('fault' in options) {
    process.stderr.write(`bench: ${options.fault}\n${USAGE}`);
    return 1;
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => giveUp(signal, 130));
  setTimeout(() => giveUp('the run took too long', 1), LONGEST_RUN_MS).unref();
  return measure(options);
}

process.exitCode = await main();
