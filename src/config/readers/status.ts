import type { ArgReader } from '../row.ts';
import { oneWord } from './words.ts';

const LOWEST = 400;
const HIGHEST = 599;

/** The status of an answer that refuses a request (nginx: ngx_conf_set_num_slot, bounds 400 and 599). */
export const refusalStatus: ArgReader<number> = oneWord('code', (word, { directive, report }) => {
  const code = Number(word.value);
  if (!/^\d{1,15}$/.test(word.value)) report.emerg(`"${directive}" directive invalid number`, word.span);
  else if (code >= LOWEST && code <= HIGHEST) return code;
  else report.emerg(`value must be between ${LOWEST} and ${HIGHEST}`, word.span);
  return undefined;
});
