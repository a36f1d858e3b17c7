/** Operators of the form `column <sql> value`; the only place where an operator's SQL stands. */
export const BINARY_OPERATORS: ReadonlyMap<string, string> = new Map([
  ['eq', '='],
  ['neq', '<>'],
  ['gt', '>'],
  ['gte', '>='],
  ['lt', '<'],
  ['lte', '<='],
  ['like', 'like'],
  ['ilike', 'ilike'],
  ['match', '~'],
  ['imatch', '~*'],
  ['isdistinct', 'is distinct from'],
  ['cs', '@>'],
  ['cd', '<@'],
  ['ov', '&&'],
  ['sl', '<<'],
  ['sr', '>>'],
  ['nxr', '&<'],
  ['nxl', '&>'],
  ['adj', '-|-'],
]);

/** Operators that take `(any)` and `(all)`, and then an array. */
export const QUANTIFIABLE: ReadonlySet<string> = new Set(
  'eq gt gte lt lte like ilike match imatch'.split(' '),
);

/** Full text search: `column @@ <function>([config,] query)`. */
export const SEARCH_OPERATORS: ReadonlyMap<string, string> = new Map([
  ['fts', 'to_tsquery'],
  ['plfts', 'plainto_tsquery'],
  ['phfts', 'phraseto_tsquery'],
  ['wfts', 'websearch_to_tsquery'],
]);

export function isOperator(name: string): boolean {
  return name === 'in' || name === 'is' || BINARY_OPERATORS.has(name) || SEARCH_OPERATORS.has(name);
}
