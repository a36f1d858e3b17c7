import { notEmbedded, notYet, tooLarge } from '../fault/index.ts';
import { isOperator, SEARCH_OPERATORS } from './operators.ts';
import type { Filter, Operand } from './read-request.ts';
import { TRUTHS } from './read-request.ts';
import { Scanner } from './scanner.ts';

const MOST_VALUES = 5_000;
const OPERATOR_NAME = /[a-z]+/y;
const LIST_ELEMENT = /[^,)]*/y;

/** `<column>=[not.]<operator>.<operand>`, both sides decoded. Throws a `DbrestFault`. */
export function parseFilter(key: string, value: string): Filter {
  const column = parseColumn(key);
  const scanner = new Scanner('filter', value);
  const negated = scanner.take('not.');
  const operator = parseOperator(scanner, negated);
  if (scanner.sees('(') && !SEARCH_OPERATORS.has(operator)) throw notYet('Operator modifiers are');
  return { column, negated, operator, operand: parseOperand(scanner, operator) };
}

function parseColumn(key: string): string {
  const scanner = new Scanner('tree path', key);
  const column = scanner.identifier();
  if (scanner.sees('.')) throw notEmbedded(column);
  if (scanner.sees('->')) throw notYet('JSON paths are');
  scanner.end('"."');
  return column;
}

function parseOperator(scanner: Scanner, negated: boolean): string {
  const start = scanner.at;
  const operator = scanner.match(OPERATOR_NAME);
  if (operator !== undefined && isOperator(operator)) return operator;
  scanner.at = start;
  throw scanner.unexpected(negated ? 'operator (eq, gt, ...)' : '"not" or operator (eq, gt, ...)');
}

function parseOperand(scanner: Scanner, operator: string): Operand {
  const config = SEARCH_OPERATORS.has(operator) && scanner.take('(') ? parseConfig(scanner) : undefined;
  if (!scanner.take('.')) throw scanner.unexpected('"."');
  if (operator === 'in') return parseList(scanner);
  if (operator === 'is') return parseTruth(scanner);
  const text = scanner.text.slice(scanner.at);
  if (!SEARCH_OPERATORS.has(operator)) return { kind: 'text', text };
  return { kind: 'search', query: text, ...(config !== undefined && { config }) };
}

function parseConfig(scanner: Scanner): string {
  const config = scanner.identifier('text search configuration');
  if (!scanner.take(')')) throw scanner.unexpected('")"');
  return config;
}

/** `(a,"b,c",d)`; `()` has no element at all. */
function parseList(scanner: Scanner): Operand {
  if (!scanner.take('(')) throw scanner.unexpected('"("');
  const values: string[] = [];
  if (!scanner.take(')')) {
    do {
      values.push(scanner.sees('"') ? scanner.quoted() : (scanner.match(LIST_ELEMENT) as string));
      if (values.length > MOST_VALUES) throw tooLarge(`"in" takes at most ${MOST_VALUES} values`);
    } while (scanner.take(','));
    if (!scanner.take(')')) throw scanner.unexpected('"," or ")"');
  }
  if (!scanner.done) throw scanner.unexpected('end of input');
  return { kind: 'list', values };
}

function parseTruth(scanner: Scanner): Operand {
  const given = scanner.text.slice(scanner.at).toLowerCase();
  const truth = TRUTHS.find((name) => name === given);
  if (truth === undefined) throw scanner.unexpected('null, not_null, true, false or unknown');
  return { kind: 'truth', truth };
}
