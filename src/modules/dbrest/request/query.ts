import { notYet, rangeNotSatisfiable, tooLarge, unparsable } from '../fault/index.ts';
import { parseFilter } from './filter.ts';
import { parseOrder } from './order.ts';
import type { Filter, ReadRequest } from './read-request.ts';
import { parseSelect } from './select.ts';

const MOST_FILTERS = 500;
const SINGLE = new Set(['select', 'order', 'limit', 'offset']);
const LOGIC = new Set(['and', 'or', 'not.and', 'not.or']);
/** Only of writes; a read has nothing that they could change. */
const WRITES_ONLY = new Set(['columns', 'on_conflict']);

/** The raw query of a table read as a request tree. Throws a `DbrestFault`. */
export function parseReadQuery(args: string): ReadRequest {
  const single = new Map<string, string>();
  const filters: Filter[] = [];
  for (const piece of args.split('&')) {
    if (piece === '') continue;
    const equals = piece.indexOf('=');
    const key = decode(equals < 0 ? piece : piece.slice(0, equals), args);
    const value = equals < 0 ? '' : decode(piece.slice(equals + 1), args);
    if (LOGIC.has(key)) throw notYet('Logic trees are');
    if (SINGLE.has(key)) {
      if (single.has(key))
        throw unparsable('query string', key, { column: 1, report: `"${key}" is given twice` });
      single.set(key, value);
    } else if (!WRITES_ONLY.has(key)) {
      filters.push(parseFilter(key, value));
      if (filters.length > MOST_FILTERS) throw tooLarge(`at most ${MOST_FILTERS} filters`);
    }
  }
  const limit = parseCount('limit', single.get('limit'));
  return {
    select: parseSelect(single.get('select') ?? '*'),
    filters,
    order: parseOrder(single.get('order') ?? ''),
    ...(limit !== undefined && { limit }),
    offset: parseCount('offset', single.get('offset')) ?? 0,
  };
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

function parseCount(part: 'limit' | 'offset', text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^-\d+$/.test(text)) {
    const name = part === 'limit' ? 'Limit' : 'Offset';
    throw rangeNotSatisfiable(`${name} should be greater than or equal to zero.`);
  }
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw unparsable(part, text, { column: 1, report: 'expecting a whole number of at most 15 digits' });
}
