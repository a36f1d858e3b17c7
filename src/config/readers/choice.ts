import type { FaultDetails, Fix, Word } from '../../../grammar/index.ts';
import { nearest, renaming } from '../nearest.ts';
import type { ArgReader } from '../row.ts';
import { oneWord } from './words.ts';

const readFlag = oneWord<boolean>('on | off', (word, { directive, report }) => {
  const given = word.value.toLowerCase();
  if (given === 'on') return true;
  if (given === 'off') return false;
  const message = `invalid value "${word.value}" in "${directive}" directive, it must be "on" or "off"`;
  report.emerg(message, word.span, { fix: nearestValue(word, FLAGS) });
  return undefined;
});

/** `on` or `off`, in any case (nginx: ngx_conf_set_flag_slot). */
export const flag: ArgReader<boolean> = { ...readFlag, choices: ['on', 'off'] };

/** What people write for a flag that knows only two words. */
const FLAGS: readonly string[] = ['on', 'off'];
const MEANT: ReadonlyMap<string, string> = new Map([
  ...['true', 'yes', '1', 'enable', 'enabled'].map((word) => [word, 'on'] as const),
  ...['false', 'no', '0', 'disable', 'disabled', 'none'].map((word) => [word, 'off'] as const),
]);

/** The value in place of a word that is near it. */
function nearestValue({ value, span }: Word, names: readonly string[]): Fix | undefined {
  const meant = MEANT.get(value.toLowerCase());
  const near = meant !== undefined && names.includes(meant) ? meant : nearest(value, names);
  return near === undefined ? undefined : renaming(span, near);
}

/** One of a few names (nginx: ngx_conf_set_enum_slot). */
export function oneOf<const T extends string>(...names: readonly T[]): ArgReader<T> {
  const reader = oneWord(names.join(' | '), (word, { report }) => {
    const known = names.find((name) => name === word.value);
    if (known === undefined) {
      report.emerg(`invalid value "${word.value}"`, word.span, expectedOf(word, names));
    }
    return known;
  });
  return { ...reader, choices: names };
}

/** What is said of a word that should be one of a few names: all of them, and the correction to the one that is near. */
export function expectedOf(word: Word, names: readonly string[]): FaultDetails {
  return { hint: `expected ${names.join(', ')}`, fix: nearestValue(word, names) };
}
