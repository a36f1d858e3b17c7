import { writeFileSync } from 'node:fs';
import { takesColor } from '../../grammar/index.ts';
import {
  type CheckedFile,
  type CheckReport,
  FORMATS,
  reportOf,
  tallyOf,
  tallyText,
} from '../../src/tools/check/index.ts';
import { VERSION } from '../../src/version.ts';
import { patchOf, replaceFile } from '../replace-file.ts';
import { failureText } from '../terminal.ts';
import { type Examination, examine, isAtLeast, readBaseline, writeBaseline } from './examine.ts';
import { type Input, inputsOf } from './inputs.ts';
import { ruleCatalogue } from '../../src/pipeline.ts';
import { mend, type MendedConfig } from './mend.ts';
import {
  type CheckCommandOptions,
  type CheckSettings,
  type Output,
  settingsOf,
  UsageError,
} from './settings.ts';

function say(line: string): void {
  process.stderr.write(`gw: ${line}\n`);
}

/** Prints a report in all requested formats. `isTextOut`: standard output is used for a configuration. */
function print(report: CheckReport, outputs: readonly Output[], isTextOut: boolean): void {
  for (const { format, file } of outputs) {
    const stream = isTextOut ? process.stderr : process.stdout;
    const color = file === undefined && takesColor(stream);
    const text = FORMATS[format](report, { color, root: process.cwd(), version: VERSION });
    if (file === undefined) stream.write(text);
    else writeReport(file, text);
  }
  // The concise format prints nothing if there are no findings, and a file prints nothing here, so the counts follow.
  if (outputs.every(({ format, file }) => file !== undefined || format === 'concise'))
    process.stderr.write(`${tallyText(tallyOf(report))}\n`);
}

function writeReport(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (error) {
    throw new UsageError(failureText(error, file), { cause: error });
  }
}

/** The configurations after their fixes. */
interface MendedAll {
  /** The remaining findings. */
  readonly checked: readonly CheckedFile[];
  readonly isChanged: boolean;
  /** True if standard output shows a patch. */
  readonly isPatch: boolean;
  /** True if standard output has the mended text of standard input. */
  readonly isTextOut: boolean;
}

/** Mends configurations in their files, or shows the patch. */
async function mendAll(inputs: readonly Input[], examination: Examination): Promise<MendedAll> {
  const isPatch = examination.settings.diff === true;
  if (!isPatch && inputs.some(({ readOnly }) => readOnly === 'dump'))
    throw new UsageError('a dump cannot be mended: name the files themselves, or ask for --diff');
  if (!isPatch && inputs.some(({ readOnly }) => readOnly === 'demo'))
    throw new UsageError(
      "the demo's configuration is a part of gw: name the files to mend, or ask for --diff",
    );
  const texts = new Map<string, string>();
  const checked: CheckedFile[] = [];
  let count = 0;
  for (const input of inputs) {
    const mended = await mend(input, examination, texts);
    for (const [path, { text }] of mended.changed) texts.set(path, text);
    for (const line of mended.refused) say(line);
    if (isPatch) showPatch(mended);
    else writeMended(input, mended);
    count += mended.count;
    checked.push({ name: input.name, review: mended.review });
  }
  if (!isPatch && count > 0) say(`${count} finding${count === 1 ? '' : 's'} mended`);
  const isTextOut = !isPatch && inputs.some(({ readOnly }) => readOnly === 'stdin');
  return { checked, isChanged: texts.size > 0, isPatch, isTextOut };
}

function showPatch({ changed }: MendedConfig): void {
  for (const { before, text } of changed.values()) process.stdout.write(patchOf(before, text));
}

/** Writes the mended files; the text of standard input goes to standard output, changed or not. */
function writeMended({ readOnly }: Input, { changed, review }: MendedConfig): void {
  if (readOnly === 'stdin') process.stdout.write(review.sources[0]?.text ?? '');
  else for (const [path, { text }] of changed) replaceFile(path, text);
}

/**
 * `gw check [FILE ...]`: reports all findings in configurations. Exit code 0: nothing at or above `--fail-on`; 1:
 * findings; 2: the command line is wrong, or a file cannot be read.
 */
export async function check(files: readonly string[], options: CheckCommandOptions): Promise<number> {
  try {
    return await checkAll(files, settingsOf(options, await ruleCatalogue()));
  } catch (error) {
    // A failing rule is a bug of gw; its stack would not help the user.
    say(error instanceof UsageError ? error.message : failureText(error));
    return 2;
  }
}

async function checkAll(files: readonly string[], settings: CheckSettings): Promise<number> {
  const { inputs, unreadable, skipped } = inputsOf(files, settings);
  for (const line of [...unreadable, ...skipped]) say(line);
  if (inputs.length === 0) return 2;
  const baseline = settings.baseline === undefined ? undefined : readBaseline(settings.baseline);
  const examination: Examination = { settings, baseline };
  const examined: (Input & CheckedFile)[] = [];
  for (const input of inputs) examined.push({ ...input, review: await examine(input, examination) });
  const checked = withoutIncluded(examined);
  const code =
    settings.fixes === 'none' ? conclude(checked, settings) : await mendAndConclude(checked, examination);
  return unreadable.length > 0 ? 2 : code;
}

/**
 * Returns the configurations without those that were found in a directory and are included by another one, with which
 * they have been checked.
 */
function withoutIncluded<T extends Input & CheckedFile>(checked: readonly T[]): readonly T[] {
  const included = new Set(
    checked
      .filter(({ fragment }) => fragment === undefined)
      .flatMap(({ review }) => review.sources.slice(1).map(({ path }) => path)),
  );
  return checked.filter(({ wasFound, review, fragment }) => {
    const own = review.sources[0];
    return (
      !(wasFound && own && included.has(own.path)) || (fragment === undefined && !included.has(own.path))
    );
  });
}

async function mendAndConclude(
  checked: readonly (Input & CheckedFile)[],
  examination: Examination,
): Promise<number> {
  const mended = await mendAll(checked, examination);
  return mended.isPatch
    ? mended.isChanged
      ? 1
      : 0
    : conclude(mended.checked, examination.settings, mended.isTextOut);
}

/** Prints the findings, or writes them as a baseline, and returns the exit code. */
function conclude(checked: readonly CheckedFile[], settings: CheckSettings, isTextOut = false): number {
  const report = reportOf(checked);
  if (settings.writeBaseline !== undefined) {
    const count = writeBaseline(settings.writeBaseline, report);
    say(`${count} finding${count === 1 ? '' : 's'} kept in ${settings.writeBaseline}`);
    return report.findings.some(({ refuses }) => refuses) ? 1 : 0;
  }
  print(report, settings.outputs, isTextOut);
  const { failOn } = settings;
  const fails = failOn !== 'never' && report.findings.some(({ severity }) => isAtLeast(severity, failOn));
  return fails ? 1 : 0;
}
