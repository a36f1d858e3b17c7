import { userInfo } from 'node:os';
import { resolve } from 'node:path';
import type { Span, Word } from '../../../../grammar/index.ts';
import { readers } from '../../../config/index.ts';
import { type ConnectionTarget, processSurroundings, readDsn, targetName } from '../../../postgres/index.ts';
import { namesFile } from './file-value.ts';

/** The database of `dbrest_pass`: a server, or the embedded one with its absolute data directory. */
export type DbrestPass =
  | { readonly kind: 'server'; readonly target: ConnectionTarget }
  | { readonly kind: 'embedded'; readonly dir: string };

/** The superuser of the embedded server, which gw logs in as. */
export const EMBEDDED_ROLE = 'postgres';

/** The role that gw logs in with. */
export function loginRoleOf(pass: DbrestPass): string {
  return pass.kind === 'embedded' ? EMBEDDED_ROLE : (pass.target.user ?? userInfo().username);
}

/** Tells databases and login roles apart, without their passwords; the same in each run. */
export function identityOf(pass: DbrestPass): string {
  if (pass.kind === 'embedded') return `embedded ${pass.dir}`;
  return JSON.stringify([targetName(pass.target), pass.target.user, pass.target.options]);
}

/** The data directory of the embedded database if `dbrest_pass` names none. */
export const DEFAULT_EMBEDDED_DIR = '.gw/pg';

/** Reads the arguments of `dbrest_pass`: `embedded[:dir]`, a URI, or keywords, as one quoted word or several words. */
export const passReader = readers.words<DbrestPass>(
  { syntax: 'dsn | embedded[:dir]', min: 1, max: Infinity },
  (list, scope) => {
    const { directive, prefix, report } = scope;
    if (namesFile(list[0] as Word, scope)) return undefined;
    const embedded = list.length === 1 ? /^embedded(?::(.+))?$/.exec((list[0] as Word).value) : null;
    if (embedded) return { kind: 'embedded', dir: resolve(prefix, embedded[1] ?? DEFAULT_EMBEDDED_DIR) };

    const warn = (message: string): void => report.warn(`"${directive}": ${message}`, (list[0] as Word).span);
    const read = readDsn(list.map((word) => word.value).join(' '), { ...processSurroundings(), warn });
    if (!('fault' in read)) return { kind: 'server', target: read };
    const { fault } = read;
    const { word, span } = spanOf(list, fault.start, fault.end);
    // The message may quote a part of the connection string, which may be secret.
    const message = word.secret && !fault.isPublic ? 'malformed connection string' : fault.message;
    report.emerg(`invalid value in "${directive}" directive, ${message}`, span, {
      hint: fault.hint,
      rule: 'dbrest-dsn',
    });
    return undefined;
  },
);

/** Maps offsets in the joined words to a span in the source; the whole word if unquoting has shifted its characters. */
function spanOf(list: readonly Word[], start: number, end: number): { word: Word; span: Span } {
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
