import type { Ending } from './operand.ts';
import { parseOperand } from './operand.ts';
import { isOperator, QUANTIFIABLE, SEARCH_OPERATORS } from './operators.ts';
import type { Field, Filter } from './read-request.ts';
import { DELIMITER, Scanner } from './scanner.ts';

const OPERATOR_NAME = /[a-z]+/y;

/** `[not.]<operator>[(any|all)].<operand>` of a filter whose field is known. Throws a `DbrestFault`. */
export function parseFilter(field: Field, value: string): Filter {
  const filter = parseTest(new Scanner('filter', value), field, 'input');
  return filter;
}

/** The same inside a logic tree, where a comma or a parenthesis ends a value. */
export function parseTest(scanner: Scanner, field: Field, ending: Ending): Filter {
  const negated = scanner.take('not.');
  const operator = parseOperator(scanner, negated);
  const quantifier = QUANTIFIABLE.has(operator) ? parseQuantifier(scanner) : undefined;
  const operand = parseOperand(scanner, operator, ending);
  return { kind: 'filter', ...field, negated, operator, ...(quantifier && { quantifier }), operand };
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
