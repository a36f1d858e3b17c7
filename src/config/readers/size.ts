import type { ArgReader } from '../row.ts';
import { oneWord } from './words.ts';

const UNITS: Record<string, number> = { '': 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 };

/** `8k`, `1m`, `2g`, `512` in bytes; `undefined` when it is not a size (nginx: ngx_parse_offset). */
export function parseSize(text: string): number | undefined {
  const match = /^(\d+)([kmg]?)$/i.exec(text);
  if (!match) return undefined;
  const bytes = Number(match[1]) * (UNITS[(match[2] as string).toLowerCase()] as number);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** A size in bytes. */
export const size: ArgReader<number> = oneWord('size', (word, { directive, report }) => {
  const bytes = parseSize(word.value);
  if (bytes === undefined) {
    report.emerg(
      `"${directive}" directive invalid value`,
      word.span,
      'expected a size such as 512, 8k, 1m or 2g',
    );
  }
  return bytes;
});
