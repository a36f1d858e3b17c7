import { tooLarge } from '../fault/index.ts';
import { parseField } from './field.ts';
import type { OrderTerm } from './read-request.ts';
import { DELIMITER, FIELD_NAME, Scanner } from './scanner.ts';

const MOST_TERMS = 500;
const NULLS = '"nullsfirst" or "nullslast"';

/** `order=name.desc.nullslast,data->>a,clients(name)`. Throws a `DbrestFault`. */
export function parseOrder(text: string): OrderTerm[] {
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
