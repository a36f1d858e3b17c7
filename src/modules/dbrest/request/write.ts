import type { Exchange } from '../../../http/index.ts';
import { invalidJson, tooLarge, unparsable, unreadableBody } from '../fault/index.ts';
import { JSON_TYPE, type ReceivedBody, receiveBody } from './body.ts';
import { readCsv } from './csv.ts';
import { readForm } from './form.ts';
import type { RequestHead } from './head.ts';
import { scanJson } from './json-scan.ts';
import { parametersOf, parseReadQuery } from './query.ts';
import type { ReadQuery } from './tree.ts';
import { Scanner } from './scanner.ts';

export type WriteMethod = 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** POST, PUT, PATCH and DELETE of a table. */
export interface WriteRequest {
  readonly kind: 'write';
  readonly head: RequestHead & { readonly method: WriteMethod };
  readonly query: WriteQuery;
  /** Absent: there is none in a DELETE. */
  readonly body: WrittenBody | undefined;
}

/** `undefined` when there is nobody left to be told anything. Throws a `DbrestFault`. */
export async function parseWrite(x: Exchange, head: RequestHead): Promise<WriteRequest | undefined> {
  const query = parseWriteQuery(x.args);
  const received = head.method === 'DELETE' ? undefined : await receiveBody(x);
  if (head.method !== 'DELETE' && !received) return undefined;
  const body = received && (await readWritten(received, query.columns !== undefined));
  return { kind: 'write', head: head as WriteRequest['head'], query, body };
}

/** What the query of a write says; names are not looked up yet. */
export interface WriteQuery {
  /** Which rows, and what to show of them. */
  readonly rows: ReadQuery;
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

/** Rows to be written, as one JSON text. */
export interface WrittenBody {
  readonly json: Buffer | readonly Buffer[];
  /** A single row, or an array of rows. */
  readonly kind: 'object' | 'array';
  /** The columns that the rows have; empty where the request names them itself. */
  readonly keys: readonly string[];
  /** The members of the JSON are not called by their column but by its place among the keys: `1`, `2` … */
  readonly numbered?: true;
  /** All values are texts as the database writes them, JSON as well. */
  readonly isText?: true;
}

/** The rows of a body by its media type. `named`: the request says which columns count. Throws PGRST102. */
export async function readWritten({ type, bytes, turn }: ReceivedBody, named: boolean): Promise<WrittenBody> {
  switch (type) {
    case 'text/csv': {
      const { json, names } = await readCsv(bytes, turn);
      return { json, kind: 'array', keys: names, numbered: true, isText: true };
    }
    case 'application/x-www-form-urlencoded': {
      const { json, names } = await readForm(bytes, turn);
      return { json, kind: 'object', keys: names, isText: true };
    }
  }
  if (!JSON_TYPE.test(type)) throw unreadableBody(type);
  const { kind, keys } = await scanJson(bytes, named ? 'any' : 'same', turn);
  if (kind === 'scalar') throw invalidJson();
  return { json: bytes, kind, keys };
}
