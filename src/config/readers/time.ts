import type { ArgReader } from '../row.ts';
import { oneWord } from './words.ts';

/** Units in the order in which nginx lets them be combined, in milliseconds. */
const UNITS = [
  ['y', 31_536_000_000],
  ['M', 2_592_000_000],
  ['w', 604_800_000],
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
  ['ms', 1],
] as const;

/** `1h30m`, `1h 30m`, `500ms`; a bare number counts seconds. In milliseconds, or `undefined` (nginx: ngx_parse_time). */
export function parseTimeMs(text: string): number | undefined {
  let rest = text;
  let totalMs = 0;
  let unitsLeft = 0;
  if (rest === '') return undefined;
  while (rest !== '') {
    const match = /^(\d+)(ms|[yMwdhms]?) */.exec(rest);
    if (!match) return undefined;
    const position = match[2] === '' ? 6 : UNITS.findIndex(([name]) => name === match[2]);
    if (position < unitsLeft) return undefined;
    unitsLeft = position + 1;
    totalMs += Number(match[1]) * (UNITS[position] as readonly [string, number])[1];
    rest = rest.slice(match[0].length);
    if (match[2] === '' && rest !== '') return undefined;
  }
  return Number.isSafeInteger(totalMs) ? totalMs : undefined;
}

/** Node takes no longer timer (24.8 days), and makes one of a millisecond of what is longer. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** A time that something waits, in milliseconds: what is longer than a timer can be is that long. */
export const time: ArgReader<number> = oneWord('time', (word, { directive, report }) => {
  const ms = parseTimeMs(word.value);
  if (ms === undefined) {
    report.emerg(
      `"${directive}" directive invalid value`,
      word.span,
      'expected a time such as 30s, 500ms or 1h30m',
    );
  }
  return ms === undefined ? undefined : Math.min(ms, LONGEST_TIMER_MS);
});
