import type { ArgReader } from '../row.ts';
import { oneWord } from './words.ts';

const readFlag = oneWord<boolean>('on | off', (word, { directive, report }) => {
  const given = word.value.toLowerCase();
  if (given === 'on') return true;
  if (given === 'off') return false;
  report.emerg(
    `invalid value "${word.value}" in "${directive}" directive, it must be "on" or "off"`,
    word.span,
  );
  return undefined;
});

/** `on` or `off`, in any case (nginx: ngx_conf_set_flag_slot). */
export const flag: ArgReader<boolean> = { ...readFlag, choices: ['on', 'off'] };

/** One of a few names (nginx: ngx_conf_set_enum_slot). */
export function oneOf<const T extends string>(...names: readonly T[]): ArgReader<T> {
  const reader = oneWord(names.join(' | '), (word, { report }) => {
    const known = names.find((name) => name === word.value);
    if (known === undefined) {
      report.emerg(`invalid value "${word.value}"`, word.span, `expected ${names.join(', ')}`);
    }
    return known;
  });
  return { ...reader, choices: names };
}
