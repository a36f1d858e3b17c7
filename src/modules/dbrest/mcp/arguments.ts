import { wrongArguments } from '../fault/index.ts';
import { OPEN_ARRAY, OPEN_OBJECT, QUOTE, slicesOf } from '../json.ts';
import { arrayLiteral } from '../sql/index.ts';
import { membersOf, type Params } from './message.ts';

/** Arguments that are an object, or absent. Throws DBREST133 for others. */
export function objectOf(json: Buffer | undefined): Buffer | undefined {
  if (json && json[0] !== OPEN_OBJECT) throw wrongArguments('the arguments are an object');
  return json;
}

/** The arguments of a tool. Every method throws DBREST133 for an argument of another type. */
export class Arguments {
  readonly #given: Params;

  /** Throws if an argument has none of the names. */
  constructor(json: Buffer | undefined, names: readonly string[]) {
    const object = objectOf(json);
    this.#given = object ? membersOf(object) : new Map();
    for (const name of this.#given.keys()) {
      if (!names.includes(name)) throw wrongArguments(`expected only ${names.join(', ') || 'none'}`);
    }
  }

  text(name: string): string | undefined {
    const value = this.#value(name);
    if (value === undefined || typeof value === 'string') return value;
    throw wrongArguments(`"${name}" is a string`);
  }

  /** A whole number from 0 to `most`. */
  count(name: string, most: number): number | undefined {
    const value = this.#value(name);
    if (value === undefined) return undefined;
    if (Number.isInteger(value) && (value as number) >= 0 && (value as number) <= most)
      return value as number;
    throw wrongArguments(`"${name}" is a whole number from 0 to ${most}`);
  }

  /** False if it is absent. */
  flag(name: string): boolean {
    const value = this.#value(name) ?? false;
    if (typeof value === 'boolean') return value;
    throw wrongArguments(`"${name}" is true or false`);
  }

  /** An object or an array, as it was sent. */
  json(name: string, kinds: 'object' | 'object or array'): Buffer {
    const value = this.#given.get(name);
    const first = value?.[0];
    if (value && (first === OPEN_OBJECT || (first === OPEN_ARRAY && kinds !== 'object'))) return value;
    throw wrongArguments(`"${name}" is an ${kinds}`);
  }

  /** The filters as parameters of a query: `%22id%22=eq.1`. `keyOf` names a column there. */
  filters(name: string, keyOf: (column: string) => string): readonly string[] {
    const json = this.#given.get(name);
    if (!json) return [];
    if (json[0] !== OPEN_ARRAY) throw wrongArguments(`"${name}" is an array of filters`);
    return elementsOf(json).map((filter) => filterOf(filter, keyOf));
  }

  /** `undefined` also for null, which clients may send for an absent argument. */
  #value(name: string): unknown {
    const json = this.#given.get(name);
    return json ? ((JSON.parse(json.toString()) as unknown) ?? undefined) : undefined;
  }
}

function elementsOf(json: Buffer): readonly Buffer[] {
  return [...slicesOf(json)].flatMap((slice) => slice?.value ?? []);
}

/** Operators with a plain value, as in the query of a request. */
export const OPERATORS = [
  'eq',
  'neq',
  'gt',
  'gte',
  'lt',
  'lte',
  'like',
  'ilike',
  'match',
  'imatch',
  'in',
  'is',
  'cs',
  'cd',
  'ov',
  'fts',
  'plfts',
  'phfts',
  'wfts',
] as const;

const FILTER_NAMES = ['column', 'operator', 'value', 'not'];

/** The steps of a JSON path behind a column. */
const JSON_PATH = /->[^]*$/;
/** The names of a path to a column of an embedded relation. */
const NAMES = /"(?:[^"\\]|\\.)*"|[^.]+/g;

/**
 * The name of a column in a query. Names are quoted, so that they are not other parameters, such as `order`. If the
 * table has no such column, the name may have a JSON path and, with `isBelow`, name a column of an embedded relation.
 */
export function columnKey(column: string, isOwn: boolean, isBelow: boolean): string {
  if (isOwn) return quoted(column);
  const path = JSON_PATH.exec(column)?.[0] ?? '';
  const names = column.slice(0, column.length - path.length);
  const below = isBelow ? (names.match(NAMES) ?? []) : [];
  const isPath = below.length > 1 && below.join('.') === names;
  return (isPath ? below.map(requoted).join('.') : quoted(names)) + path;
}

export function quoted(name: string): string {
  return `"${name.replace(/["\\]/g, '\\$&')}"`;
}

function requoted(name: string): string {
  return name.startsWith('"') ? name : quoted(name);
}

function filterOf(json: Buffer, keyOf: (column: string) => string): string {
  if (json[0] !== OPEN_OBJECT)
    throw wrongArguments('a filter is an object with "column", "operator" and "value"');
  const given = new Arguments(json, FILTER_NAMES);
  const column = given.text('column');
  const operator = OPERATORS.find((name) => name === (given.text('operator') ?? 'eq'));
  const value = membersOf(json).get('value');
  if (column === undefined || value === undefined)
    throw wrongArguments('a filter has a "column" and a "value"');
  if (!operator) throw wrongArguments(`an operator is one of ${OPERATORS.join(', ')}`);
  const isNull = (operator === 'eq' || operator === 'neq') && value.toString().trim() === 'null';
  const isNegated = given.flag('not') !== (isNull && operator === 'neq');
  // As in SQL, nothing equals null.
  const operand = isNull ? 'is.null' : operandOf(operator, value);
  return `${encodeURIComponent(keyOf(column))}=${encodeURIComponent(`${isNegated ? 'not.' : ''}${operand}`)}`;
}

function operandOf(operator: string, json: Buffer): string {
  const isArray = json[0] === OPEN_ARRAY;
  if (operator === 'in') {
    if (!isArray) throw wrongArguments('the value of "in" is an array');
    return `in.(${elementsOf(json)
      .map((value) => quoted(textOf(value)))
      .join(',')})`;
  }
  if (isArray) return `${operator}.${arrayLiteral(elementsOf(json).map(textOf))}`;
  if (operator === 'is') return `is.${json[0] === QUOTE ? textOf(json) : json.toString().trim()}`;
  return `${operator}.${json[0] === OPEN_OBJECT ? json.toString() : textOf(json)}`;
}

/** The text of a value; numbers keep their digits. */
function textOf(json: Buffer): string {
  const text = json.toString().trim();
  if (json[0] === QUOTE) return JSON.parse(text) as string;
  if (text === 'null' || json[0] === OPEN_ARRAY || json[0] === OPEN_OBJECT)
    throw wrongArguments('a value is a text, a number or a boolean');
  return text;
}
