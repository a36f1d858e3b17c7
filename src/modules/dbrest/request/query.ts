import type { DbrestConfig } from '../directives/index.ts';
import { rangeNotSatisfiable, tooLarge, unparsable } from '../fault/index.ts';
import { isOperation, parseFilter, parseHaving, parseLogic } from './filter.ts';
import { type RequestHead, rowLimitOf, rowRange } from './head.ts';
import { QUERY } from './header-fields.ts';
import { parseDistinct, parseOrder, parseSelect } from './select.ts';
import { DELIMITER, parsePath, Scanner } from './scanner.ts';
import type { Field, GroupLogic, Level, Logic, ReadQuery } from './tree.ts';

/** The parsed name of a parameter; `path` leads to the embed that it applies to and is empty for the root. */
type QueryKey = { readonly path: readonly string[] } & (
  | { readonly kind: 'filter'; readonly field: Field }
  | { readonly kind: 'logic'; readonly operator: string }
  | { readonly kind: 'having' | 'distinct' | 'order' | 'limit' | 'offset' }
);

const DEEPEST = 10;
/** Names of parameters that belong to the read grammar, at any level. */
export const GRAMMAR = /^(?:select|columns|on_conflict)$|(?:^|\.)(?:order|limit|offset|and|or)$/;
const GROUPING = /(?:^|\.)(having|distinct)$/;
const AGGREGATE = /(?:^|[.(, ])(?:avg|count|max|min|sum)\(\)/;

/**
 * Returns whether a parameter is `having` or `distinct` of the read grammar, at any level. Columns and arguments may
 * have these names too: the value of a clause has an aggregate, or begins with `on.`.
 */
export function isGrouping(key: string, value: string): boolean {
  const word = GROUPING.exec(key)?.[1];
  return word === 'distinct'
    ? value.startsWith('on.')
    : word === 'having' && isHaving(value) && AGGREGATE.test(value);
}

const TREE = /^(?:not\.)?(?:and|or) *\(/;

/** Returns whether a value is that of the clause, because it does not begin like a filter of a column `having`. */
function isHaving(value: string): boolean {
  return TREE.test(value) || !isOperation(value);
}

/**
 * Parses `id`, `data->>a`, `orders.items.id`, `orders.order`, `orders.not.or` and the like, before the value of a
 * parameter. Throws a `DbrestFault`.
 */
function parseKey(key: string, value: string): QueryKey {
  const scanner = new Scanner('tree path', key);
  const names: string[] = [];
  let start: number;
  do {
    scanner.refuseOver(names.length, DEEPEST + 2, 'names in a path');
    start = scanner.at;
    names.push(scanner.identifier());
  } while (scanner.take('.'));
  const word = scanner.text.slice(start);
  const path = names.slice(0, -1);
  switch (word) {
    case 'order':
    case 'limit':
    case 'offset':
      return { kind: word, path };
    case 'having':
      if (isHaving(value)) return { kind: word, path };
      break;
    case 'distinct':
      if (!isOperation(value)) return { kind: word, path };
      break;
    case 'and':
    case 'or':
      if (path.at(-1) !== 'not') return { kind: 'logic', operator: word, path };
      return { kind: 'logic', operator: `not.${word}`, path: path.slice(0, -1) };
  }
  const column = names.at(-1) as string;
  const steps = parsePath(scanner);
  scanner.end(DELIMITER);
  return { kind: 'filter', path, field: steps.length === 0 ? { column } : { column, path: steps } };
}

const MOST_FILTERS = 500;
/** The items of `select` have the same limit. */
const MOST_EMBEDS = 500;
/** Parameters of writes, which reads ignore. */
const WRITES_ONLY = new Set(['columns', 'on_conflict']);

/** A level while the query is parsed. */
interface LevelDraft {
  readonly path: readonly string[];
  readonly filters: Logic[];
  readonly having: GroupLogic[];
  distinct?: Level['distinct'];
  order?: Level['order'];
  limit?: number;
  offset?: number;
}

/** Parses the raw query of a read. Parameters for which `isOther` returns true are skipped. Throws a `DbrestFault`. */
export function parseReadQuery(
  args: string,
  isOther: (key: string, value: string) => boolean = () => false,
): ReadQuery {
  let select: string | undefined;
  const levels = new Map<string, LevelDraft>();
  let filters = 0;
  const count = (): void => {
    filters += 1;
    if (filters > MOST_FILTERS) throw tooLarge(`at most ${MOST_FILTERS} filters`);
  };
  for (const [key, value] of parametersOf(args)) {
    if (WRITES_ONLY.has(key) || isOther(key, value)) continue;
    if (key === 'select') {
      if (select !== undefined) throw givenTwice(key);
      select = value;
      continue;
    }
    const parsed = parseKey(key, value);
    const level = levelOf(levels, parsed.path);
    addTo(level, parsed, { value, count });
  }
  const { path: _, ...root } = finished(levelOf(levels, []));
  levels.delete('');
  return { select: parseSelect(select ?? '*'), ...root, embedded: [...levels.values()].map(finished) };
}

/** Adds a parameter to its level. `count` is called before each filter is parsed. */
function addTo(
  level: LevelDraft,
  parsed: QueryKey,
  { value, count }: { readonly value: string; readonly count: () => void },
): void {
  switch (parsed.kind) {
    case 'filter':
      count();
      level.filters.push(parseFilter(parsed.field, value));
      return;
    case 'logic':
      level.filters.push(parseLogic(parsed.operator, value, count));
      return;
    case 'having':
      level.having.push(parseHaving(value, count));
      return;
    case 'distinct':
    case 'order':
    case 'limit':
    case 'offset':
      if (level[parsed.kind] !== undefined) throw givenTwice([...parsed.path, parsed.kind].join('.'));
      setBound(level, parsed.kind, value);
  }
}

/** The decoded parameters of a raw query or a form. Throws PGRST100. */
export function* parametersOf(args: string): Generator<readonly [key: string, value: string]> {
  // The content of a QUERY is long; a caller that refuses one of its first parameters does not pay for the others.
  for (let from = 0, end = 0; from < args.length; from = end + 1) {
    const found = args.indexOf('&', from);
    end = found < 0 ? args.length : found;
    if (end === from) continue;
    const piece = args.slice(from, end);
    const equals = piece.indexOf('=');
    const key = decodePiece(equals < 0 ? piece : piece.slice(0, equals), args);
    yield [key, equals < 0 ? '' : decodePiece(piece.slice(equals + 1), args)];
  }
}

/** Percent-decoding in which `+` is a blank. Throws PGRST100, which shows `args`. */
export function decodePiece(raw: string, args: string): string {
  if (!/[%+]/.test(raw)) return raw;
  try {
    return decodeURIComponent(raw.replaceAll('+', ' '));
  } catch {
    throw unparsable('query string', args, {
      column: 1,
      report: 'unexpected percent-encoding expecting UTF-8',
    });
  }
}

/** Operators in whose patterns `*` stands for `%`. */
const WITH_STARS = new Set(['like', 'ilike']);

/** The text that is bound for an operand of a filter. */
export function boundText(operator: string, text: string): string {
  return WITH_STARS.has(operator) ? text.replaceAll('*', '%') : text;
}

function levelOf(levels: Map<string, LevelDraft>, path: readonly string[]): LevelDraft {
  // Names contain no NUL.
  const key = path.join('\0');
  const known = levels.get(key);
  if (known) return known;
  const level: LevelDraft = { path, filters: [], having: [] };
  levels.set(key, level);
  // The root counts as a level, too.
  if (levels.size > MOST_EMBEDS + 1)
    throw tooLarge(`parameters of at most ${MOST_EMBEDS} embedded resources`);
  return level;
}

function setBound(level: LevelDraft, kind: 'distinct' | 'order' | 'limit' | 'offset', value: string): void {
  if (kind === 'order') level.order = parseOrder(value);
  else if (kind === 'distinct') level.distinct = parseDistinct(value);
  else level[kind] = parseCount(kind, value);
}

function finished(draft: LevelDraft): Level & Pick<LevelDraft, 'path'> {
  const { path, filters, having, distinct = [], order = [], limit, offset = 0 } = draft;
  return { path, filters, having, distinct, order, ...(limit !== undefined && { limit }), offset };
}

function givenTwice(key: string): Error {
  return unparsable('query string', key, { column: 1, report: `unexpected second "${key}" expecting one` });
}

/** Parses a limit or offset. A negative offset counts as 0, as in PostgREST. */
function parseCount(part: 'limit' | 'offset', text: string): number {
  if (/^-\d+$/.test(text)) {
    if (part === 'offset') return 0;
    throw rangeNotSatisfiable('Limit should be greater than or equal to zero.');
  }
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw unparsable(part, text, {
    column: 1,
    report: `unexpected ${JSON.stringify(text)} expecting a whole number of at most 15 digits`,
  });
}

/** A raw query with its parameters sorted by name; parameters of one name keep their order. */
export function sortedQuery(args: string): string {
  if (!args.includes('&')) return args;
  const nameOf = (pair: string): string => pair.split('=', 1)[0] as string;
  const pairs = args.split('&').map((pair) => [nameOf(pair), pair] as const);
  return pairs
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([, pair]) => pair)
    .join('&');
}

/** A GET, HEAD or QUERY request for a table. */
export interface ReadRequest {
  readonly kind: 'read';
  readonly head: RequestHead;
  /** Offset and limit include the `Range` header and `dbrest_max_rows`. */
  readonly query: ReadQuery;
}

/** The texts of a request that are parsed together. */
export interface QuerySource {
  /** The raw query string, followed by the body of a QUERY. */
  readonly args: string;
  /** The header `Range`. */
  readonly range: string | undefined;
}

/** Parses a read. Throws a `DbrestFault`. */
export function parseRead(head: RequestHead, source: QuerySource, { maxRows }: DbrestConfig): ReadRequest {
  const query = parseReadQuery(source.args);
  return {
    kind: 'read',
    head,
    query: { ...query, ...rowRange(query, rangeOf(head, source), rowLimitOf(maxRows, head.resource.name)) },
  };
}

/** The header `Range`, which counts for GET (RFC 9110, 14.2) and QUERY alone. */
export function rangeOf({ method }: RequestHead, { range }: QuerySource): string | undefined {
  return method === 'GET' || method === QUERY ? range : undefined;
}
