import { tooLarge } from '../fault/index.ts';
import {
  type Aggregated,
  type Field,
  type Filter,
  type GroupFilter,
  type GroupLogic,
  type Logic,
  type LogicOf,
  type Operand,
  TRUTHS,
} from './tree.ts';
import { DELIMITER, FIELD_NAME, parseField, Scanner } from './scanner.ts';
import { faultInSearch } from './search-query.ts';
import { parseAggregated } from './select.ts';

/** Operators of the form `column <sql> value`, with their SQL. */
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

/** Operators that accept `(any)` and `(all)` and then take an array. */
const QUANTIFIABLE: ReadonlySet<string> = new Set('eq gt gte lt lte like ilike match imatch'.split(' '));

/** Full text search: `column @@ <function>([config,] query)`. */
export const SEARCH_OPERATORS: ReadonlyMap<string, string> = new Map([
  ['fts', 'to_tsquery'],
  ['plfts', 'plainto_tsquery'],
  ['phfts', 'phraseto_tsquery'],
  ['wfts', 'websearch_to_tsquery'],
]);

const OPERATION = /^([a-z]+)(?:\.|\(([^)]*)\)\.)/;

/** Returns whether the value of a parameter begins like a filter. */
export function isOperation(value: string): boolean {
  if (value.startsWith('not.')) return true;
  const [, operator = '', modifier] = OPERATION.exec(value) ?? [];
  if (modifier === undefined) return isOperator(operator);
  return SEARCH_OPERATORS.has(operator) || (QUANTIFIABLE.has(operator) && /^(?:any|all)$/.test(modifier));
}

function isOperator(name: string): boolean {
  return name === 'in' || name === 'is' || BINARY_OPERATORS.has(name) || SEARCH_OPERATORS.has(name);
}

/** The end of a value: that of the input, or a comma or parenthesis of a logic tree. */
type ValueEnd = 'input' | 'tree';

const MOST_VALUES = 5_000;
/** About the length of a URL. A QUERY has room for 256 KB, but PostgreSQL takes seconds for such a long pattern. */
const LONGEST_PATTERN = 8_192;
const PATTERN_OPERATORS: ReadonlySet<string> = new Set(['like', 'ilike', 'match', 'imatch']);
const UNTIL_DELIMITER = /[^,)]*/y;
/** Delimiters of an array literal. */
const BRACES = /[{}"]/g;

/** Parses what follows an operator and its optional modifier. Throws a `DbrestFault`. */
function parseOperand(scanner: Scanner, operator: string, ending: ValueEnd): Operand {
  const config = SEARCH_OPERATORS.has(operator) && scanner.take('(') ? parseConfig(scanner) : undefined;
  scanner.expect('.', DELIMITER);
  if (operator === 'in') return parseList(scanner, ending);
  if (operator === 'is') return parseTruth(scanner, ending);
  const start = scanner.at;
  const text = ending === 'input' ? restOf(scanner) : parseTreeValue(scanner);
  const isSearch = SEARCH_OPERATORS.has(operator);
  if (text.length > LONGEST_PATTERN && (isSearch || PATTERN_OPERATORS.has(operator)))
    throw tooLarge(`"${operator}" takes at most ${LONGEST_PATTERN} characters`);
  if (!isSearch) return { kind: 'text', text };
  if (operator === STRICT_SEARCH) checkSearch(scanner, { start, text, mayName: config === undefined });
  return { kind: 'search', query: text, ...(config !== undefined && { config }) };
}

/** The operator whose queries have a grammar; the others take any text. */
const STRICT_SEARCH = 'fts';
/** A text that may be the name of a configuration. */
const FIRST_WORD = /^[^.]+\./;

interface SearchText {
  readonly start: number;
  readonly text: string;
  /** Its first word may name a configuration, which only the schema knows. */
  readonly mayName: boolean;
}

/** Throws PGRST100 at the character that `to_tsquery` would refuse. */
function checkSearch(scanner: Scanner, { start, text, mayName }: SearchText): void {
  const fault = faultInSearch(text);
  const first = mayName ? (FIRST_WORD.exec(text)?.[0] ?? '') : '';
  if (!fault || (first !== '' && !faultInSearch(text.slice(first.length)))) return;
  // A query in quotes has other offsets than the parameter: its start is reported.
  scanner.at = start + (scanner.text.startsWith(text, start) ? fault.at : 0);
  throw scanner.unexpected(fault.expected);
}

/** Throws PGRST100 if the text behind the name of a configuration is not a query. Only the schema knows such names. */
export function refuseSearch(operator: string, whole: string, query: string): void {
  const fault = operator === STRICT_SEARCH ? faultInSearch(query) : undefined;
  if (!fault) return;
  const scanner = new Scanner('filter', `${operator}.${whole}`);
  scanner.at = scanner.text.length - query.length + fault.at;
  throw scanner.unexpected(fault.expected);
}

function restOf(scanner: Scanner): string {
  const rest = scanner.text.slice(scanner.at);
  scanner.at = scanner.text.length;
  return rest;
}

function parseConfig(scanner: Scanner): string {
  const config = scanner.identifier('text search configuration');
  scanner.expect(')');
  return config;
}

/** Parses `(a,"b,c",d)`; `()` is the empty list. */
function parseList(scanner: Scanner, ending: ValueEnd): Operand & { readonly kind: 'list' } {
  scanner.expect('(');
  scanner.skipBlanks();
  const values: string[] = [];
  if (!scanner.take(')')) {
    do {
      values.push(parseElement(scanner));
      if (values.length > MOST_VALUES) throw tooLarge(`"in" takes at most ${MOST_VALUES} values`);
    } while (scanner.take(','));
    scanner.expect(')', '"," or ")"');
  }
  scanner.skipBlanks();
  if (ending === 'input') {
    scanner.skipClosing();
    scanner.end();
  }
  return { kind: 'list', values };
}

/** Parses the operand of `in`. Throws a `DbrestFault`. */
export function parseListText(text: string): readonly string[] {
  return parseList(new Scanner('filter', text), 'input').values;
}

/** Parses an element. Quotes delimit it only if they enclose all of it; otherwise they are ordinary characters. */
function parseElement(scanner: Scanner): string {
  const start = scanner.at;
  if (scanner.sees('"') && scanner.text.includes('"', start + 1)) {
    const value = closedQuote(scanner);
    if (value !== undefined && (scanner.done || scanner.sees(',') || scanner.sees(')'))) return value;
    scanner.at = start;
  }
  return scanner.match(UNTIL_DELIMITER) as string;
}

function closedQuote(scanner: Scanner): string | undefined {
  try {
    return scanner.quoted();
  } catch {
    return undefined;
  }
}

function parseTreeValue(scanner: Scanner): string {
  if (!scanner.sees('{')) return parseElement(scanner);
  const end = endOfArray(scanner.text, scanner.at);
  if (end === undefined || !/^\s*[,)]/.test(scanner.text.slice(end, end + 2))) return parseElement(scanner);
  const literal = scanner.text.slice(scanner.at, end);
  scanner.at = end;
  return literal;
}

/** Returns the index behind the brace that closes the one at `start`. */
function endOfArray(text: string, start: number): number | undefined {
  let depth = 0;
  let inQuotes = false;
  BRACES.lastIndex = start;
  for (let found = BRACES.exec(text); found; found = BRACES.exec(text)) {
    if (found[0] === '"') inQuotes = text[found.index - 1] === '\\' ? inQuotes : !inQuotes;
    else if (!inQuotes) depth += found[0] === '{' ? 1 : -1;
    if (depth === 0) return found.index + 1;
  }
  return undefined;
}

function parseTruth(scanner: Scanner, ending: ValueEnd): Operand {
  const start = scanner.at;
  const given = (ending === 'input' ? restOf(scanner) : (scanner.match(UNTIL_DELIMITER) as string)).trim();
  const truth = TRUTHS.find((name) => name === given.toLowerCase());
  if (truth !== undefined) return { kind: 'truth', truth };
  scanner.at = start;
  throw scanner.unexpected('isVal: (null, not_null, true, false, unknown)');
}

const OPERATOR_NAME = /[a-z]+/y;

/** Parses `[not.]<operator>[(any|all)].<operand>`. Throws a `DbrestFault`. */
export function parseFilter(field: Field, value: string): Filter {
  return parseTest(new Scanner('filter', value), field, 'input');
}

/** Parses the rest of a filter of a field or an aggregate; in a logic tree a comma or a parenthesis ends its value. */
function parseTest(scanner: Scanner, of: Field, ending: ValueEnd): Filter;
function parseTest(scanner: Scanner, of: Aggregated, ending: ValueEnd): GroupFilter;
function parseTest(scanner: Scanner, of: Field | Aggregated, ending: ValueEnd): Filter | GroupFilter {
  const negated = scanner.take('not.');
  const operator = parseOperator(scanner, negated);
  const quantifier = QUANTIFIABLE.has(operator) ? parseQuantifier(scanner) : undefined;
  const operand = parseOperand(scanner, operator, ending);
  return { kind: 'filter', ...of, negated, operator, ...(quantifier && { quantifier }), operand };
}

function parseOperator(scanner: Scanner, negated: boolean): string {
  const start = scanner.at;
  const operator = scanner.match(OPERATOR_NAME);
  if (operator !== undefined && isOperator(operator)) {
    if (scanner.sees('.') || scanner.done) return operator;
    if (scanner.sees('(') && (QUANTIFIABLE.has(operator) || SEARCH_OPERATORS.has(operator))) return operator;
    throw scanner.unexpected(DELIMITER);
  }
  scanner.at = start;
  throw scanner.unexpected(negated ? 'operator (eq, gt, ...)' : '"not" or operator (eq, gt, ...)');
}

function parseQuantifier(scanner: Scanner): 'any' | 'all' | undefined {
  if (!scanner.take('(')) return undefined;
  const quantifier = (['any', 'all'] as const).find((word) => scanner.take(`${word})`));
  if (!quantifier) throw scanner.unexpected('"any)" or "all)"');
  return quantifier;
}

const DEEPEST = 20;
const TERM = `${FIELD_NAME}, negation operator (not) or logic operator (and, or)`;
const GROUP = /(?:not\.)?(?:and|or)(?= *\()/y;

/**
 * Parses `or=(a.eq.1,not.and(b.gt.2,c.is.null))`; `operator` is `and`, `or`, `not.and` or `not.or`. `count` is called
 * before each filter, and may throw. Throws a `DbrestFault`.
 */
export function parseLogic(operator: string, value: string, count: () => void): Logic {
  // Columns in errors are counted from the operator, as if name and value were one text.
  const scanner = new Scanner('logic tree', operator + value, value);
  scanner.at = operator.length;
  const logic = parseGroup(scanner, operator, { depth: 1, parseLeaf: counting(count, parseLeaf) });
  // PostgREST ignores any text behind a tree. Here it is refused, because a condition would be lost.
  scanner.skipClosing();
  scanner.end();
  return logic;
}

function counting<F>(count: () => void, parse: (scanner: Scanner) => F): (scanner: Scanner) => F {
  return (scanner) => {
    count();
    return parse(scanner);
  };
}

/**
 * Parses `amount.sum().gt.100` or a tree of such filters, `or(count().gt.1,amount.max().is.null)`. `count` as for
 * `parseLogic`. Throws a `DbrestFault`.
 */
export function parseHaving(value: string, count: () => void): GroupLogic {
  const scanner = new Scanner('having', value);
  const operator = scanner.match(GROUP);
  if (operator === undefined) {
    count();
    return parseGroupFilter(scanner, 'input');
  }
  const parseTerms = counting(count, (at) => parseGroupFilter(at, 'tree'));
  const logic = parseGroup(scanner, operator, { depth: 1, parseLeaf: parseTerms });
  scanner.skipClosing();
  scanner.end();
  return logic;
}

function parseGroupFilter(scanner: Scanner, ending: ValueEnd): GroupFilter {
  const aggregated = parseAggregated(scanner);
  scanner.expect('.', DELIMITER);
  return parseTest(scanner, aggregated, ending);
}

/** The depth of a group in its tree, and the parser of its filters. */
interface GroupParts<F> {
  readonly depth: number;
  readonly parseLeaf: (scanner: Scanner) => F;
}

function parseGroup<F>(scanner: Scanner, operator: string, { depth, parseLeaf }: GroupParts<F>): LogicOf<F> {
  if (depth > DEEPEST) throw tooLarge(`"and" and "or" nest at most ${DEEPEST} deep`);
  scanner.skipBlanks();
  scanner.expect('(');
  const terms: LogicOf<F>[] = [];
  do terms.push(parseTerm(scanner, { depth, parseLeaf }));
  while (scanner.take(','));
  scanner.expect(')', '"," or ")"');
  scanner.skipBlanks();
  return { kind: operator.endsWith('or') ? 'or' : 'and', negated: operator.startsWith('not.'), terms };
}

function parseTerm<F>(scanner: Scanner, { depth, parseLeaf }: GroupParts<F>): LogicOf<F> {
  scanner.skipBlanks();
  const group = scanner.match(GROUP);
  if (group !== undefined) return parseGroup(scanner, group, { depth: depth + 1, parseLeaf });
  const leaf = parseLeaf(scanner);
  scanner.skipBlanks();
  return leaf;
}

function parseLeaf(scanner: Scanner): Filter {
  const field = parseField(scanner, TERM);
  scanner.expect('.', DELIMITER);
  return parseTest(scanner, field, 'tree');
}
