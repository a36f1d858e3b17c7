import { tooLarge } from '../fault/index.ts';
import { SEARCH_OPERATORS } from './operators.ts';
import type { Operand } from './read-request.ts';
import { TRUTHS } from './read-request.ts';
import { DELIMITER } from './scanner.ts';
import type { Scanner } from './scanner.ts';

/** Where a value ends: with its text, or at the comma or parenthesis of a logic tree. */
export type Ending = 'input' | 'tree';

const MOST_VALUES = 5_000;
const UNTIL_DELIMITER = /[^,)]*/y;
/** A literal array, other arrays and quoted texts in it. */
const BRACES = /[{}"]/g;

/** What follows an operator and, where it takes one, its modifier. Throws a `DbrestFault`. */
export function parseOperand(scanner: Scanner, operator: string, ending: Ending): Operand {
  const config = SEARCH_OPERATORS.has(operator) && scanner.take('(') ? parseConfig(scanner) : undefined;
  scanner.expect('.', DELIMITER);
  if (operator === 'in') return parseList(scanner, ending);
  if (operator === 'is') return parseTruth(scanner, ending);
  const text = ending === 'input' ? restOf(scanner) : parseTreeValue(scanner);
  if (!SEARCH_OPERATORS.has(operator)) return { kind: 'text', text };
  return { kind: 'search', query: text, ...(config !== undefined && { config }) };
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

/** `(a,"b,c",d)`; `()` has no element at all. */
function parseList(scanner: Scanner, ending: Ending): Operand {
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
  if (ending === 'input') scanner.end();
  return { kind: 'list', values };
}

/** A quoted text only counts as one when it is the whole element; else its quotes are characters like others. */
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

/** The place behind the brace that closes the one at `start`. */
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

function parseTruth(scanner: Scanner, ending: Ending): Operand {
  const start = scanner.at;
  const given = (ending === 'input' ? restOf(scanner) : (scanner.match(UNTIL_DELIMITER) as string)).trim();
  const truth = TRUTHS.find((name) => name === given.toLowerCase());
  if (truth !== undefined) return { kind: 'truth', truth };
  scanner.at = start;
  throw scanner.unexpected('isVal: (null, not_null, true, false, unknown)');
}
