import { rangeNotSatisfiable, tooLarge, unparsable } from '../fault/index.ts';
import { parseFilter } from './filter.ts';
import { parseLogic } from './logic.ts';
import { parseOrder } from './order.ts';
import { parseKey } from './query-key.ts';
import type { Level, Logic, OrderTerm, ReadRequest } from './read-request.ts';
import { parseSelect } from './select.ts';

const MOST_FILTERS = 500;
/** Only of writes; a read has nothing that they could change. */
const WRITES_ONLY = new Set(['columns', 'on_conflict']);

/** One level while it is read. */
interface Draft {
  readonly path: readonly string[];
  readonly filters: Logic[];
  order?: OrderTerm[];
  limit?: number;
  offset?: number;
}

/** The raw query of a read as a request tree, without what `isOther` says is no part of it. Throws a `DbrestFault`. */
export function parseReadQuery(
  args: string,
  isOther: (key: string, value: string) => boolean = () => false,
): ReadRequest {
  let select: string | undefined;
  const levels = new Map<string, Draft>();
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

/** The parameters of a raw query or of a form, decoded. Throws PGRST100. */
export function* parametersOf(args: string): Generator<readonly [key: string, value: string]> {
  for (const piece of args.split('&')) {
    if (piece === '') continue;
    const equals = piece.indexOf('=');
    const key = decode(equals < 0 ? piece : piece.slice(0, equals), args);
    yield [key, equals < 0 ? '' : decode(piece.slice(equals + 1), args)];
  }
}

/** Form decoding: `+` is a blank. */
function decode(raw: string, args: string): string {
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

function levelOf(levels: Map<string, Draft>, path: readonly string[]): Draft {
  // No name has a NUL in it.
  const key = path.join('\0');
  const level: Draft = levels.get(key) ?? { path, filters: [] };
  levels.set(key, level);
  return level;
}

function setBound(level: Draft, kind: 'order' | 'limit' | 'offset', value: string): void {
  if (kind === 'order') level.order = parseOrder(value);
  else level[kind] = parseCount(kind, value);
}

function finished({ path, filters, order = [], limit, offset = 0 }: Draft): Level & Pick<Draft, 'path'> {
  return { path, filters, order, ...(limit !== undefined && { limit }), offset };
}

function filtersIn(logic: Logic): number {
  return logic.kind === 'filter' ? 1 : logic.terms.reduce((sum, term) => sum + filtersIn(term), 0);
}

function givenTwice(key: string): Error {
  return unparsable('query string', key, { column: 1, report: `unexpected second "${key}" expecting one` });
}

/** No row stands before the first, so that an offset below 0 is one of 0, as in PostgREST. */
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
