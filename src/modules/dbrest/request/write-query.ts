import { tooLarge, unparsable } from '../fault/index.ts';
import { parametersOf, parseReadQuery } from './query.ts';
import type { ReadRequest } from './read-request.ts';
import { Scanner } from './scanner.ts';

/** What the query of a write says; names are not looked up yet. */
export interface WriteQuery {
  /** Which rows, and what to show of them. */
  readonly rows: ReadRequest;
  /** What of the body is written; all of it when absent. */
  readonly columns?: readonly string[];
  /** The columns that tell whether a row is there already; those of the key when absent. */
  readonly onConflict?: readonly string[];
}

/** PostgreSQL's own limit for a table. */
const MOST_COLUMNS = 1_600;

/** The raw query of a write. Throws a `DbrestFault`. */
export function parseWriteQuery(args: string): WriteQuery {
  const lists = new Map<string, readonly string[]>();
  for (const [key, value] of parametersOf(args)) {
    if (key !== 'columns' && key !== 'on_conflict') continue;
    if (lists.has(key))
      throw unparsable('query string', key, { column: 1, report: `"${key}" is given twice` });
    lists.set(key, parseNames(`${key} parameter`, value));
  }
  const columns = lists.get('columns');
  const onConflict = lists.get('on_conflict');
  return { rows: parseReadQuery(args), ...(columns && { columns }), ...(onConflict && { onConflict }) };
}

/** `id,"a name"`; a name that comes twice counts once. */
function parseNames(part: 'columns parameter' | 'on_conflict parameter', text: string): readonly string[] {
  const scanner = new Scanner(part, text);
  const names = new Set<string>();
  do {
    names.add(scanner.identifier());
    if (names.size > MOST_COLUMNS) throw tooLarge(`at most ${MOST_COLUMNS} columns`);
    scanner.skipBlanks();
  } while (scanner.take(','));
  scanner.end('","');
  return [...names];
}
