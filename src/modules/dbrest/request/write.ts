import { groupedWrite, invalidJson, tooLarge, unparsable, unreadableBody } from '../fault/index.ts';
import { JSON_TYPE, type ReceivedBody } from './header-fields.ts';
import { readCsv } from './csv.ts';
import { readForm } from './form.ts';
import type { RequestHead } from './head.ts';
import { scanJson } from './json-scan.ts';
import type { DbrestConfig } from '../directives/index.ts';
import { inSlices } from '../event-loop.ts';
import { type NestedMembers, nestedMembers } from './nested-rows.ts';
import { parametersOf, parseReadQuery } from './query.ts';
import type { Level, ReadQuery } from './tree.ts';
import { Scanner } from './scanner.ts';

export type WriteMethod = 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** A POST, PUT, PATCH or DELETE request for a table. */
export interface WriteRequest {
  readonly kind: 'write';
  readonly head: RequestHead & { readonly method: WriteMethod };
  readonly query: WriteQuery;
  /** Absent for DELETE. */
  readonly body: WrittenBody | undefined;
}

/** A write whose body has not been read. */
export interface ParsedWrite extends Omit<WriteRequest, 'body'> {
  /** Its body may have rows of other tables (`dbrest_nested_insert`). */
  readonly nests?: true;
}

/** Parses the query of a write. Throws a `DbrestFault`. */
export function parseWrite(
  head: RequestHead,
  args: string,
  { nestedInsert }: Pick<DbrestConfig, 'nestedInsert'>,
): ParsedWrite {
  const query = parseWriteQuery(args);
  if ([query.rows, ...query.rows.embedded].some(isGrouped)) throw groupedWrite();
  const nests = nestedInsert && head.method === 'POST';
  return { kind: 'write', head: head as WriteRequest['head'], query, ...(nests && { nests }) };
}

function isGrouped({ having, distinct }: Level): boolean {
  return having.length > 0 || distinct.length > 0;
}

/** The parsed query of a write; its names have not been looked up yet. */
export interface WriteQuery {
  /** Filters of the affected rows, and the columns to return. */
  readonly rows: ReadQuery;
  /** The keys of the body that are written; all of them if absent. */
  readonly columns?: readonly string[];
  /** The columns that identify existing rows, or `ANY_CONSTRAINT`; those of the primary key if absent. */
  readonly onConflict?: readonly string[];
}

/** In `on_conflict`: rows that are in conflict with others by any constraint are ignored. */
export const ANY_CONSTRAINT = '*';

/** PostgreSQL's limit for a table. */
const MOST_COLUMNS = 1_600;

/** Parses the raw query of a write. Throws a `DbrestFault`. */
export function parseWriteQuery(args: string): WriteQuery {
  const lists = new Map<string, readonly string[]>();
  for (const [key, value] of parametersOf(args)) {
    if (key !== 'columns' && key !== 'on_conflict') continue;
    if (lists.has(key))
      throw unparsable('query string', key, { column: 1, report: `"${key}" is given twice` });
    const isAny = key === 'on_conflict' && value === ANY_CONSTRAINT;
    lists.set(key, isAny ? [ANY_CONSTRAINT] : parseNames(`${key} parameter`, value));
  }
  const columns = lists.get('columns');
  const onConflict = lists.get('on_conflict');
  return { rows: parseReadQuery(args), ...(columns && { columns }), ...(onConflict && { onConflict }) };
}

/** Parses `id,"a name"`; duplicates are removed. */
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

/** The rows of a write as one JSON text. */
export interface WrittenBody {
  readonly json: Buffer | readonly Buffer[];
  /** A single row, or an array of rows. */
  readonly kind: 'object' | 'array';
  /** There is more than one row. Only a PATCH depends on it. */
  readonly isSeveral?: boolean;
  /** The keys of the rows; empty if the query names the columns. */
  readonly keys: readonly string[];
  /** Members are numbered (`1`, `2` …) in the order of `keys` instead of named. */
  readonly numbered?: true;
  /** The contents of members of the rows, if they may be rows of other tables. */
  readonly nested?: NestedMembers;
  /** All values are texts in PostgreSQL's notation, including values of JSON columns. */
  readonly isText?: true;
}

interface ReadOptions {
  /** The query names the columns. */
  readonly named: boolean;
  readonly nests?: boolean | undefined;
}

/** Parses the rows of a body by its media type. Throws PGRST102. */
export async function readWritten(
  { type, bytes, turn }: ReceivedBody,
  { named, nests = false }: ReadOptions,
): Promise<WrittenBody> {
  switch (type) {
    case 'text/csv': {
      const { json, names, rows } = await readCsv(bytes, turn);
      return { json, kind: 'array', isSeveral: rows > 1, keys: names, numbered: true, isText: true };
    }
    case 'application/x-www-form-urlencoded': {
      const { json, names } = await readForm(bytes, turn);
      return { json, kind: 'object', keys: names, isText: true };
    }
  }
  if (!JSON_TYPE.test(type)) throw unreadableBody(type);
  const { kind, keys, isSeveral = false } = await scanJson(bytes, named ? 'any' : 'same', turn);
  if (kind === 'scalar') throw invalidJson();
  const nested = nests ? await inSlices(nestedMembers(bytes)) : undefined;
  return { json: bytes, kind, isSeveral, keys, ...(nested && { nested }) };
}
