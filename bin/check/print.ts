import { writeFileSync } from 'node:fs';
import { takesColor } from '../../grammar/index.ts';
import { FORMATS, tallyOf, tallyText } from '../../src/check/index.ts';
import type { CheckReport } from '../../src/check/index.ts';
import { VERSION } from '../../src/version.ts';
import { failureText } from '../failure.ts';
import { UsageError } from './settings.ts';
import type { Output } from './settings.ts';

/** One line to whoever sits there. */
export function say(line: string): void {
  process.stderr.write(`gw: ${line}\n`);
}

/** Prints a report in every format that was asked for. `isTextOut`: standard output is for something else. */
export function print(report: CheckReport, outputs: readonly Output[], isTextOut: boolean): void {
  for (const { format, file } of outputs) {
    const stream = isTextOut ? process.stderr : process.stdout;
    const color = file === undefined && takesColor(stream);
    const text = FORMATS[format](report, { color, root: process.cwd(), version: VERSION });
    if (file === undefined) stream.write(text);
    else write(file, text);
  }
  // One line for each finding does not say that there was none; nor does a file say anything here.
  if (outputs.every(({ format, file }) => file !== undefined || format === 'concise'))
    process.stderr.write(`${tallyText(tallyOf(report))}\n`);
}

function write(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (error) {
    throw new UsageError(failureText(error, file), { cause: error });
  }
}
