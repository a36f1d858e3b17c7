import { rangeNotSatisfiable, tooLarge, unparsable } from '../fault/index.ts';
import { parseFilter, parseLogic } from './filter.ts';
import type { Field, Level, Logic, OrderTerm, ReadQuery } from './tree.ts';
import { DELIMITER, FIELD_NAME, parseField, parsePath, Scanner } from './scanner.ts';
import { parseSelect } from './select.ts';

/** The parsed name of a parameter; `path` leads to the embed that it applies to and is empty for the root. */
type QueryKey = { readonly path: readonly string[] } & (
  | { readonly kind: 'filter'; readonly field: Field }
  | { readonly kind: 'logic'; readonly operator: string }
  | { readonly kind: 'order' | 'limit' | 'offset' }
);

const DEEPEST = 10;

/** Parses `id`, `data->>a`, `orders.items.id`, `orders.order`, `orders.not.or` and the like. Throws a `DbrestFault`. */
function parseKey(key: string): QueryKey {
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

const MOST_TERMS = 500;
const NULLS = '"nullsfirst" or "nullslast"';

/** Parses `order=name.desc.nullslast,data->>a,clients(name)`. Throws a `DbrestFault`. */
function parseOrder(text: string): OrderTerm[] {
  const scanner = new Scanner('order', text);
  const terms: OrderTerm[] = [];
  while (!scanner.done) {
    const term = parseTerm(scanner);
    terms.push(term);
    if (terms.length > MOST_TERMS) throw tooLarge(`"order" has at most ${MOST_TERMS} terms`);
    scanner.skipBlanks();
    if (!scanner.take(',')) scanner.end(term.nulls ? '","' : `${DELIMITER}, ","`);
    else if (scanner.done) throw scanner.unexpected(FIELD_NAME);
  }
  return terms;
}

function parseTerm(scanner: Scanner): OrderTerm {
  const first = parseField(scanner);
  const field = !first.path && scanner.take('(') ? related(scanner, first.column) : first;
  const direction = takeOneOf(scanner, ['asc', 'desc']);
  const nulls = takeOneOf(scanner, ['nullsfirst', 'nullslast']);
  if (!nulls && scanner.take('.')) {
    throw scanner.unexpected(direction ? NULLS : `"asc", "desc", ${NULLS}`);
  }
  return { ...field, ...(direction && { direction }), ...(nulls && { nulls }) };
}

function related(scanner: Scanner, relation: string): OrderTerm {
  const field = parseField(scanner);
  scanner.expect(')');
  return { relation, ...field };
}

function takeOneOf<const T extends string>(scanner: Scanner, words: readonly T[]): T | undefined {
  return words.find((word) => scanner.take(`.${word}`));
}

const MOST_FILTERS = 500;
/** Parameters of writes, which reads ignore. */
const WRITES_ONLY = new Set(['columns', 'on_conflict']);

/** A level while the query is parsed. */
interface LevelDraft {
  readonly path: readonly string[];
  readonly filters: Logic[];
  order?: OrderTerm[];
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
  for (const [key, value] of parametersOf(args)) {
    if (WRITES_ONLY.has(key) || isOther(key, value)) continue;
    if (key === 'select') {
      if (select !== undefined) throw givenTwice(key);
      select = value;
      continue;
    }
    const parsed = parseKey(key);
    const level = levelOf(levels, parsed.path);
    if (parsed.kind === 'filter' || parsed.kind === 'logic') {
      const logic =
        parsed.kind === 'filter' ? parseFilter(parsed.field, value) : parseLogic(parsed.operator, value);
      level.filters.push(logic);
      filters += filtersIn(logic);
      if (filters > MOST_FILTERS) throw tooLarge(`at most ${MOST_FILTERS} filters`);
    } else {
      if (level[parsed.kind] !== undefined) throw givenTwice(key);
      setBound(level, parsed.kind, value);
    }
  }
  const { path: _, ...root } = finished(levelOf(levels, []));
  levels.delete('');
  return { select: parseSelect(select ?? '*'), ...root, embedded: [...levels.values()].map(finished) };
}

/** The decoded parameters of a raw query or a form. Throws PGRST100. */
export function* parametersOf(args: string): Generator<readonly [key: string, value: string]> {
  for (const piece of args.split('&')) {
    if (piece === '') continue;
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

function levelOf(levels: Map<string, LevelDraft>, path: readonly string[]): LevelDraft {
  // Names contain no NUL.
  const key = path.join('\0');
  const level: LevelDraft = levels.get(key) ?? { path, filters: [] };
  levels.set(key, level);
  return level;
}

function setBound(level: LevelDraft, kind: 'order' | 'limit' | 'offset', value: string): void {
  if (kind === 'order') level.order = parseOrder(value);
  else level[kind] = parseCount(kind, value);
}

function finished({
  path,
  filters,
  order = [],
  limit,
  offset = 0,
}: LevelDraft): Level & Pick<LevelDraft, 'path'> {
  return { path, filters, order, ...(limit !== undefined && { limit }), offset };
}

function filtersIn(logic: Logic): number {
  return logic.kind === 'filter' ? 1 : logic.terms.reduce((sum, term) => sum + filtersIn(term), 0);
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
