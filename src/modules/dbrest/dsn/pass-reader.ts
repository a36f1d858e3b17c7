import { resolve } from 'node:path';
import type { Span, Word } from '../../../../grammar/index.ts';
import { readers } from '../../../config/index.ts';
import { readDsn } from './read-dsn.ts';
import type { DbrestPass } from './target.ts';

/** Where the embedded database is when `dbrest_pass` does not say. */
export const DEFAULT_EMBEDDED_DIR = '.gw/pg';

/** `dbrest_pass`: `embedded[:dir]`, a URI, or keywords, which may stand as one quoted word or as several. */
export const passReader = readers.words<DbrestPass>(
  { syntax: 'dsn | embedded[:dir]', min: 1, max: Infinity },
  (list, { directive, prefix, report }) => {
    const embedded = list.length === 1 ? /^embedded(?::(.+))?$/.exec((list[0] as Word).value) : null;
    if (embedded) return { kind: 'embedded', dir: resolve(prefix, embedded[1] ?? DEFAULT_EMBEDDED_DIR) };

    const read = readDsn(list.map((word) => word.value).join(' '));
    if (!('fault' in read)) return { kind: 'server', target: read };
    const { fault } = read;
    const { word, span } = place(list, fault.start, fault.end);
    // The text of a fault may quote a piece of the string, and the string may be a secret.
    const message = word.secret ? 'malformed connection string' : fault.message;
    report.emerg(`invalid value in "${directive}" directive, ${message}`, span, {
      hint: fault.hint,
      rule: 'dbrest-dsn',
    });
    return undefined;
  },
);

/** Offsets in the joined words to a stretch of the source; the whole word where unquoting moved its characters. */
function place(list: readonly Word[], start: number, end: number): { word: Word; span: Span } {
  let offset = 0;
  for (const word of list) {
    const last = word === list.at(-1);
    if (start < offset + word.value.length || last) {
      const from = word.span.start + word.quote.length;
      const verbatim = word.span.source.text.startsWith(word.value, from);
      if (!verbatim || word.value === '') return { word, span: word.span };
      const first = Math.min(start - offset, word.value.length - 1);
      const until = Math.max(first + 1, Math.min(end - offset, word.value.length));
      return { word, span: { source: word.span.source, start: from + first, end: from + until } };
    }
    offset += word.value.length + 1;
  }
  throw new Error('a directive has at least one word');
}
