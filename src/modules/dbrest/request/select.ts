import { tooLarge } from '../fault/index.ts';
import { DELIMITER, FIELD_NAME, parseField, parsePath, Scanner } from './scanner.ts';
import {
  type Aggregate,
  type Aggregated,
  AGGREGATES,
  type Field,
  type Level,
  type OrderKey,
  type OrderTerm,
  type SelectedEmbed,
  type SelectItem,
  type TypeName,
} from './tree.ts';

const MODIFIERS = /\( ?(\d{1,4})(?: ?, ?(\d{1,4}))? ?\)/y;
/** The part of `timestamp(0) with time zone` after the modifier. */
const ZONE = / +with(?:out)? +time +zone/iy;
const ARRAY = /(?:\[\])+/y;
/** An aggregate after a cast (`amount::int.sum()`), which is not part of the type's name. */
const AGGREGATE = new RegExp(String.raw`\.(?:${AGGREGATES.join('|')})\(\)`, 'y');

/** Most modifiers of the types of PostgreSQL, by all their names. Types of extensions may have any number. */
const MOST_MODIFIERS: ReadonlyMap<string, number> = new Map([
  ...(
    'bool|boolean|bytea|cidr|date|double precision|float4|float8|inet|int|int2|int4|int8|integer|bigint|smallint|real|json|jsonb|' +
    'jsonpath|macaddr|money|name|oid|point|regclass|regtype|text|tsquery|tsvector|uuid|void|xml'
  )
    .split('|')
    .map((name) => [name, 0] as const),
  ...(
    'bit|bit varying|varbit|bpchar|character|char|character varying|varchar|interval|time|time without time zone|' +
    'time with time zone|timetz|timestamp|timestamp without time zone|timestamp with time zone|timestamptz'
  )
    .split('|')
    .map((name) => [name, 1] as const),
  ['numeric', 2],
  ['decimal', 2],
]);

/** Parses `text`, `double precision`, `numeric(10,2)`, `"my type"`, `s.type` or `int[]`. Throws a `DbrestFault`. */
function parseTypeName(scanner: Scanner): TypeName {
  const first = scanner.identifier('type name');
  const isQualified = !scanner.matches(AGGREGATE) && scanner.take('.');
  const name = isQualified ? scanner.identifier('type name') : first;
  const start = scanner.at;
  const modifiers = scanner.match(MODIFIERS)?.match(/\d+/g)?.map(Number);
  const zone = modifiers ? (scanner.match(ZONE)?.trim().replace(/ +/g, ' ') ?? '') : '';
  const isBuiltIn = !isQualified || first === 'pg_catalog';
  const most = isBuiltIn ? MOST_MODIFIERS.get(name.toLowerCase().replace(/^_/, '')) : undefined;
  if (modifiers && most !== undefined && modifiers.length > most) {
    scanner.at = start;
    throw scanner.unexpected('","', "'");
  }
  const isArray = scanner.match(ARRAY) !== undefined;
  return {
    ...(isQualified && { schema: first }),
    name: zone === '' ? name : `${name} ${zone}`,
    ...(modifiers && { modifiers }),
    ...(isArray && { isArray }),
  };
}

function parseCast(scanner: Scanner): TypeName | undefined {
  return scanner.take('::') ? parseTypeName(scanner) : undefined;
}

/** Parses `sum()`. */
function parseAggregate(scanner: Scanner): Aggregate {
  const found = AGGREGATES.find((name) => scanner.take(`${name}()`));
  if (!found) throw scanner.unexpected('"avg()", "count()", "max()", "min()" or "sum()"');
  return found;
}

/** Parses `count()` or `column->path::cast.sum()`. Throws a `DbrestFault`. */
export function parseAggregated(scanner: Scanner): Aggregated {
  const field = parseField(scanner);
  return aggregateAfter(scanner, field) ?? { field, ...castAggregate(scanner) };
}

/** Parses the aggregate behind a field, if one follows; `count` with parentheses is the number of rows. */
function aggregateAfter(scanner: Scanner, field: Field): Aggregated | undefined {
  if (field.column === 'count' && !field.path && scanner.take('()')) return { aggregate: 'count' };
  if (!scanner.sees('::') && !scanner.matches(AGGREGATE)) return undefined;
  return { field, ...castAggregate(scanner) };
}

function castAggregate(scanner: Scanner): Pick<Aggregated, 'aggregate' | 'cast'> {
  const cast = parseCast(scanner);
  scanner.expect('.', DELIMITER);
  return { ...(cast && { cast }), aggregate: parseAggregate(scanner) };
}

const MOST_ITEMS = 500;
const DEEPEST = 10;
const ITEM = `"...", ${FIELD_NAME} or "*"`;

/** Parses `id,alias:name,amount::text,*,orders(*)`; an empty text selects all columns. Throws a `DbrestFault`. */
export function parseSelect(text: string): SelectItem[] {
  return new SelectParser(text).parse();
}

class SelectParser {
  readonly #scanner: Scanner;
  #items = 0;
  #depth = 0;

  constructor(text: string) {
    this.#scanner = new Scanner('select parameter', text);
  }

  parse(): SelectItem[] {
    const items: SelectItem[] = [];
    this.#scanner.skipBlanks();
    while (!this.#scanner.done) {
      items.push(this.#item());
      if (!this.#scanner.take(',')) this.#scanner.end('","');
      else if (this.#scanner.done) throw this.#scanner.unexpected(ITEM);
    }
    return items;
  }

  #item(): SelectItem {
    const scanner = this.#scanner;
    this.#items += 1;
    if (this.#items > MOST_ITEMS) throw tooLarge(`"select" has at most ${MOST_ITEMS} items`);
    scanner.skipBlanks();
    if (scanner.take('...')) return this.#embed(true, undefined, scanner.identifier());
    if (scanner.take('*')) return this.#after({ kind: 'all' });
    const first = scanner.identifier(ITEM);
    const aliased = scanner.sees(':') && !scanner.sees('::') && scanner.take(':');
    const name = aliased ? scanner.identifier() : first;
    const alias = aliased ? first : undefined;
    if (name === 'count' && scanner.take('()')) {
      const cast = parseCast(scanner);
      return this.#after({ kind: 'count', ...(aliased && { alias: first }), ...(cast && { cast }) });
    }
    if (scanner.sees('!') || scanner.sees('(')) return this.#embed(false, alias, name);
    return this.#column(alias, name);
  }

  #column(alias: string | undefined, column: string): SelectItem {
    const path = parsePath(this.#scanner);
    const cast = parseCast(this.#scanner);
    const aggregate = this.#scanner.take('.') ? parseAggregate(this.#scanner) : undefined;
    const aggregateCast = aggregate && parseCast(this.#scanner);
    return this.#after({
      kind: 'column',
      column,
      ...(path.length > 0 && { path }),
      ...(alias !== undefined && { alias }),
      ...(cast !== undefined && { cast }),
      ...(aggregate && { aggregate }),
      ...(aggregateCast !== undefined && { aggregateCast }),
    });
  }

  #embed(spread: boolean, alias: string | undefined, target: string): SelectedEmbed {
    const scanner = this.#scanner;
    let hint: string | undefined;
    let join: 'inner' | 'left' | undefined;
    for (let i = 0; i < 2 && scanner.take('!'); i += 1) {
      const start = scanner.at;
      const word = scanner.identifier('"inner", "left" or hint');
      if ((word === 'inner' || word === 'left') && !join) join = word;
      else if (hint === undefined) hint = word;
      else {
        scanner.at = start;
        throw scanner.unexpected('"inner" or "left"');
      }
    }
    const select = this.#forest();
    return {
      kind: 'embed',
      target,
      ...(alias !== undefined && { alias }),
      ...(hint !== undefined && { hint }),
      ...(join && { join }),
      spread,
      select,
    };
  }

  /** Parses `(id,name)`, or `()` for no columns. */
  #forest(): SelectItem[] {
    const scanner = this.#scanner;
    scanner.expect('(');
    this.#depth += 1;
    if (this.#depth > DEEPEST) throw tooLarge(`embedded resources nest at most ${DEEPEST} deep`);
    const items: SelectItem[] = [];
    scanner.skipBlanks();
    if (!scanner.take(')')) {
      do items.push(this.#item());
      while (scanner.take(','));
      scanner.expect(')', '"," or ")"');
    }
    this.#depth -= 1;
    scanner.skipBlanks();
    return items;
  }

  #after(item: SelectItem): SelectItem {
    this.#scanner.skipBlanks();
    return item;
  }
}

const MOST_TERMS = 500;
const DEEPEST_ORDER = 10;
const NULLS = '"nullsfirst" or "nullslast"';

/**
 * Parses `name.desc.nullslast,data->>a,clients(name),clients(countries(name)),amount.sum(),orders(count)`. Throws a
 * `DbrestFault`.
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

/** Parses a field or an aggregate, of the rows themselves or of a relation around it: `a(b(field))`. */
function parseKey(scanner: Scanner): OrderKey {
  const relations: string[] = [];
  for (;;) {
    const field = parseField(scanner);
    const aggregated = aggregateAfter(scanner, field);
    if (!aggregated && !field.path && scanner.take('(')) {
      relations.push(field.column);
      scanner.refuseOver(relations.length, DEEPEST_ORDER, 'relations in an order');
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
