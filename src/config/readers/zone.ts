import type { Word } from '../../../grammar/index.ts';
import type { ReadScope } from '../row.ts';
import { parseSize } from './size.ts';

/** nginx: eight pages. */
const SMALLEST_BYTES = 32_768;

/** `zone=name:size` of a directive that declares shared memory; the name may be empty. */
export function readZone(
  word: Word,
  { report }: ReadScope,
): { readonly name: string; readonly sizeBytes: number } | undefined {
  const [, name = '', sizeText = ''] = /^zone=([^:]*):(.*)$/s.exec(word.value) ?? [];
  const sizeBytes = parseSize(sizeText);
  if (sizeBytes === undefined) {
    const hint = 'expected a name and a size, such as zone=one:10m';
    report.emerg(`invalid zone size "${word.value}"`, word.span, hint);
  } else if (sizeBytes < SMALLEST_BYTES) {
    report.emerg(`zone "${word.value}" is too small`, word.span, `at least ${SMALLEST_BYTES / 1024}k`);
  } else return { name, sizeBytes };
  return undefined;
}
