import { tooLarge } from '../fault/index.ts';
import type { Level, OrderKey, OrderTerm } from './tree.ts';
import { DELIMITER, FIELD_NAME, parseField, Scanner } from './scanner.ts';
import { aggregateAfter } from './select.ts';

const MOST_TERMS = 500;
const DEEPEST = 10;
const NULLS = '"nullsfirst" or "nullslast"';

/**
 * Parses `name.desc.nullslast,data->>a,clients(name),clients(countries(name)),amount.sum(),orders(count)`. Throws a `DbrestFault`.
 */
export function parseOrder(text: string): OrderTerm[] {
  const scanner = new Scanner('order', text);
  const terms: OrderTerm[] = [];
  while (!scanner.done) {
    const term = parseTerm(scanner);
    terms.push(term);
    refuseOver(terms, 'order');
    scanner.skipBlanks();
    if (!scanner.take(',')) scanner.end(term.nulls ? '","' : `${DELIMITER}, ","`);
    else if (scanner.done) throw scanner.unexpected(FIELD_NAME);
  }
  return terms;
}

function refuseOver(terms: readonly unknown[], parameter: string): void {
  if (terms.length > MOST_TERMS) throw tooLarge(`"${parameter}" has at most ${MOST_TERMS} terms`);
}

function parseTerm(scanner: Scanner): OrderTerm {
  const key = parseKey(scanner);
  const direction = takeOneOf(scanner, ['asc', 'desc']);
  const nulls = takeOneOf(scanner, ['nullsfirst', 'nullslast']);
  if (!nulls && scanner.take('.')) {
    throw scanner.unexpected(direction ? NULLS : `"asc", "desc", ${NULLS}`);
  }
  return { ...key, ...(direction && { direction }), ...(nulls && { nulls }) };
}

/** Parses a field or an aggregate, of the rows themselves or of the relation around it: `a(b(field))`. */
function parseKey(scanner: Scanner): OrderKey {
  const relations: string[] = [];
  for (;;) {
    const field = parseField(scanner);
    const aggregated = aggregateAfter(scanner, field);
    if (!aggregated && !field.path && scanner.take('(')) {
      relations.push(field.column);
      scanner.refuseOver(relations.length, DEEPEST, 'relations in an order');
    } else {
      for (let open = relations.length; open > 0; open -= 1) {
        scanner.skipBlanks();
        scanner.expect(')');
      }
      return { ...(aggregated ?? field), ...(relations.length > 0 && { relations }) };
    }
  }
}

function takeOneOf<const T extends string>(scanner: Scanner, words: readonly T[]): T | undefined {
  return words.find((word) => scanner.take(`.${word}`));
}

/** Parses `on.*` or `on.(name,clients(city))`. Throws a `DbrestFault`. */
export function parseDistinct(text: string): Level['distinct'] {
  const scanner = new Scanner('distinct', text);
  scanner.expect('on.');
  if (scanner.take('*')) {
    scanner.end();
    return 'rows';
  }
  scanner.expect('(', '"*" or "("');
  const keys: OrderKey[] = [];
  do {
    keys.push(parseKey(scanner));
    refuseOver(keys, 'distinct');
    scanner.skipBlanks();
  } while (scanner.take(','));
  scanner.expect(')', '"," or ")"');
  scanner.end();
  return keys;
}
