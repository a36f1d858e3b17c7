import type { CheckedFile } from '../../src/check/index.ts';
import { patchOf } from '../patch.ts';
import { replaceFile } from '../replace-file.ts';
import type { Examination } from './examine.ts';
import type { Input } from './inputs.ts';
import { mend } from './mend.ts';
import type { Mended } from './mend.ts';
import { say } from './print.ts';
import { UsageError } from './settings.ts';

/** What became of the configurations. */
export interface MendedAll {
  /** What is left to find. */
  readonly checked: readonly CheckedFile[];
  readonly isChanged: boolean;
  /** Standard output shows what would change. */
  readonly isPatch: boolean;
  /** Standard output has the mended text of standard input. */
  readonly isTextOut: boolean;
}

/** Mends configurations in their files, or shows what would change. */
export async function mendAll(inputs: readonly Input[], examination: Examination): Promise<MendedAll> {
  const isPatch = examination.settings.diff === true;
  if (!isPatch && inputs.some(({ readOnly }) => readOnly === 'dump'))
    throw new UsageError('a dump cannot be mended: name the files themselves, or ask for --diff');
  const texts = new Map<string, string>();
  const checked: CheckedFile[] = [];
  let count = 0;
  for (const input of inputs) {
    const mended = await mend(input, examination, texts);
    for (const [path, { text }] of mended.changed) texts.set(path, text);
    for (const line of mended.refused) say(line);
    if (isPatch) showPatch(mended);
    else write(input, mended);
    count += mended.count;
    checked.push({ name: input.name, review: mended.review });
  }
  if (!isPatch && count > 0) say(`${count} finding${count === 1 ? '' : 's'} mended`);
  const isTextOut = !isPatch && inputs.some(({ readOnly }) => readOnly === 'stdin');
  return { checked, isChanged: texts.size > 0, isPatch, isTextOut };
}

function showPatch({ changed }: Mended): void {
  for (const { before, text } of changed.values()) process.stdout.write(patchOf(before, text));
}

/** The text of standard input goes to standard output, changed or not, and no file is touched then. */
function write({ readOnly }: Input, { changed, review }: Mended): void {
  if (readOnly === 'stdin') process.stdout.write(review.sources[0]?.text ?? '');
  else for (const [path, { text }] of changed) replaceFile(path, text);
}
