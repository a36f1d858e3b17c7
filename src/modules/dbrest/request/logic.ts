import { tooLarge } from '../fault/index.ts';
import { parseField } from './field.ts';
import { parseTest } from './filter.ts';
import type { Logic } from './read-request.ts';
import { DELIMITER, FIELD_NAME, Scanner } from './scanner.ts';

const DEEPEST = 20;
const TERM = `${FIELD_NAME}, negation operator (not) or logic operator (and, or)`;
const GROUP = /(?:not\.)?(?:and|or)(?= *\()/y;

/** `or=(a.eq.1,not.and(b.gt.2,c.is.null))`; `operator` is `and`, `or`, `not.and` or `not.or`. Throws a `DbrestFault`. */
export function parseLogic(operator: string, value: string): Logic {
  // An error counts its column from the operator, as if both were written together.
  const scanner = new Scanner('logic tree', operator + value, value);
  scanner.at = operator.length;
  const logic = parseGroup(scanner, operator, 1);
  scanner.end();
  return logic;
}

function parseGroup(scanner: Scanner, operator: string, depth: number): Logic {
  if (depth > DEEPEST) throw tooLarge(`"and" and "or" nest at most ${DEEPEST} deep`);
  scanner.skipBlanks();
  scanner.expect('(');
  const terms: Logic[] = [];
  do terms.push(parseTerm(scanner, depth));
  while (scanner.take(','));
  scanner.expect(')', '"," or ")"');
  scanner.skipBlanks();
  return { kind: operator.endsWith('or') ? 'or' : 'and', negated: operator.startsWith('not.'), terms };
}

function parseTerm(scanner: Scanner, depth: number): Logic {
  scanner.skipBlanks();
  const group = scanner.match(GROUP);
  if (group !== undefined) return parseGroup(scanner, group, depth + 1);
  const field = parseField(scanner, TERM);
  scanner.expect('.', DELIMITER);
  const filter = parseTest(scanner, field, 'tree');
  scanner.skipBlanks();
  return filter;
}
