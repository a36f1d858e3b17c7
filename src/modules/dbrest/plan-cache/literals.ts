import { boundText } from '../plan/index.ts';
import {
  BINARY_OPERATORS,
  decodePiece,
  GRAMMAR,
  isGrouping,
  isOperation,
  parseListText,
} from '../request/index.ts';
import { arrayLiteral } from '../sql/index.ts';

/** A query without its literals: requests of one shape have the same template. */
export interface Lifted {
  /** The raw query with a mark in place of each literal. */
  readonly template: string;
  /** The literals as they are bound. */
  readonly literals: readonly string[];
}

/** Begins a mark. No query with NUL, plain or encoded, is lifted, so that nothing in it looks like a mark. */
const MARK = '\0';
const CAN_LOOK_LIKE_MARK = /\0|%00/;
/** The mark of a text, and the array literal with the mark of a list. */
const MARKED = /^(?:\0text(\d+)|\{"\0list(\d+)"\})$/;

/** The literal that a bound value stands for, by its index; `undefined` for any other value. Throws for a mark within a text. */
export function literalOf(value: string): number | undefined {
  if (!value.includes(MARK)) return undefined;
  const [, text, list] = MARKED.exec(value) ?? [];
  const index = text ?? list;
  if (index === undefined) throw new Error('a literal is only a part of a bound value');
  return Number(index);
}

/** Longer queries, and queries with more literals, are not worth the memory. */
const LONGEST_QUERY = 2_048;
const MOST_LITERALS = 100;
const NOTHING_LIFTED: Lifted = { template: '', literals: [] };
const CODED = /[%+]/;
const OPERATOR = /^(?:not\.)?([a-z]+)\./;
/** The same behind an aggregate, in a filter of groups. */
const GROUP_OPERATOR = /^[^()]*\(\)\.(?:not\.)?([a-z]+)\./;

/**
 * Lifts the operands of filters and the arguments of calls out of a raw query. Everything else stays in the template, for a
 * plan may depend on it. Returns `undefined` for a query that is too large or has a fault.
 */
export function liftLiterals(args: string): Lifted | undefined {
  if (args === '') return NOTHING_LIFTED;
  if (args.length > LONGEST_QUERY || CAN_LOOK_LIKE_MARK.test(args)) return undefined;
  const literals: string[] = [];
  let template = '';
  try {
    for (const piece of args.split('&')) {
      template += `${template === '' ? '' : '&'}${withoutLiteral(piece, literals)}`;
    }
  } catch {
    return undefined;
  }
  return literals.length > MOST_LITERALS ? undefined : { template, literals };
}

/** A parameter with a mark in place of its literal, if it has one, which is added to `literals`. Throws a `DbrestFault`. */
function withoutLiteral(piece: string, literals: string[]): string {
  const equals = piece.indexOf('=');
  const name = piece.slice(0, Math.max(equals, 0));
  if (name === '' || CODED.test(name) || GRAMMAR.test(name)) return piece;
  const value = decodePiece(piece.slice(equals + 1), piece);
  const isGroup = isGrouping(name, value);
  const [prefix = '', operator = ''] = (isGroup ? GROUP_OPERATOR : OPERATOR).exec(value) ?? [];
  const start = `${name}=${isGroup ? encodeURIComponent(prefix) : prefix}`;
  const number = literals.length;
  if (BINARY_OPERATORS.has(operator)) {
    literals.push(boundText(operator, value.slice(prefix.length)));
    return `${start}${MARK}text${number}`;
  }
  if (operator === 'in') {
    literals.push(arrayLiteral(parseListText(value.slice(prefix.length))));
    return `${start}(${MARK}list${number})`;
  }
  if (isGroup || isOperation(value)) return piece;
  literals.push(value);
  return `${name}=${MARK}text${number}`;
}
