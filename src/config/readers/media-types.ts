import type { ArgReader } from '../row.ts';
import { words } from './words.ts';

/** Media types in lower case, or `*` (nginx: ngx_http_types_slot). `text/html` always belongs to them: it is not named. */
export const mediaTypes: ArgReader<readonly string[]> = words(
  { syntax: 'mime-type ...', min: 1, max: Infinity },
  (list, { report }) => {
    const types = ['text/html'];
    for (const word of list) {
      const type = word.value.toLowerCase();
      if (types.includes(type))
        report.warn(`duplicate MIME type "${word.value}"`, word.span, { rule: 'duplicate-directive' });
      else types.push(type);
    }
    return types;
  },
);
