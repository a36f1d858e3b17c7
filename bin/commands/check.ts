import { reportOf } from '../../src/check/index.ts';
import type { CheckedFile } from '../../src/check/index.ts';
import { readBaseline, writeBaseline } from '../check/baseline.ts';
import { examine, isAtLeast } from '../check/examine.ts';
import type { Examination } from '../check/examine.ts';
import { inputsOf } from '../check/inputs.ts';
import type { Input } from '../check/inputs.ts';
import { mendAll } from '../check/mend-all.ts';
import { print, say } from '../check/print.ts';
import { settingsOf, UsageError } from '../check/settings.ts';
import type { CheckCommandOptions, CheckSettings } from '../check/settings.ts';
import { failureText } from '../failure.ts';

/**
 * `gw check [FILE ...]`: everything that is wrong with configurations. 0: nothing at or above `--fail-on`; 1: findings;
 * 2: the command line is wrong, or something cannot be read.
 */
export async function check(files: readonly string[], options: CheckCommandOptions): Promise<number> {
  try {
    return await checkAll(files, settingsOf(options));
  } catch (error) {
    // A rule that fails is a fault of ours; its stack would help nobody who reads it here.
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

/** What was found in a directory and is part of another configuration has been checked with that one. */
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

/** Prints what was found, or keeps it as the baseline; gives the exit code. */
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
