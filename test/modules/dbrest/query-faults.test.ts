import { describe, expect, test } from 'vitest';
import { DbrestFault } from '../../../src/modules/dbrest/fault/index.ts';
import { parseReadQuery } from '../../../src/modules/dbrest/request/index.ts';

/** `status code message | details` of the fault that a function throws. */
function faultOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof DbrestFault) {
      const { status, code, message, details } = error;
      return `${status} ${code} ${message} | ${typeof details === 'string' ? details : 'null'}`;
    }
    throw error;
  }
  return 'no fault';
}

const failed = (what: string, at: number, details: string): string =>
  `400 PGRST100 "failed to parse ${what}" (line 1, column ${at}) | ${details}`;

const NAME = 'field name (* or [a..z0..9_$])';
const AGGREGATE = '"avg()", "count()", "max()", "min()" or "sum()"';
const KEY = 'any non reserved character different from: .,>()';

const refused: [query: string, fault: string][] = [
  ['id=5', failed('filter (5)', 1, 'unexpected "5" expecting "not" or operator (eq, gt, ...)')],
  ['id', failed('filter ()', 1, 'unexpected end of input expecting "not" or operator (eq, gt, ...)')],
  ['id=not.5', failed('filter (not.5)', 5, 'unexpected "5" expecting operator (eq, gt, ...)')],
  ['id=equal.5', failed('filter (equal.5)', 1, 'unexpected "e" expecting "not" or operator (eq, gt, ...)')],
  ['id=EQ.5', failed('filter (EQ.5)', 1, 'unexpected "E" expecting "not" or operator (eq, gt, ...)')],
  ['id=eq', failed('filter (eq)', 3, 'unexpected end of input expecting delimiter (.)')],
  [
    'id=constructor.1',
    failed('filter (constructor.1)', 1, 'unexpected "c" expecting "not" or operator (eq, gt, ...)'),
  ],
  ['id=in.1', failed('filter (in.1)', 4, 'unexpected "1" expecting "("')],
  ['id=in.(1', failed('filter (in.(1)', 6, 'unexpected end of input expecting "," or ")"')],
  ['id=in.(1)x', failed('filter (in.(1)x)', 7, "unexpected 'x' expecting end of input")],
  [
    'id=is.nil',
    failed('filter (is.nil)', 4, 'unexpected "n" expecting isVal: (null, not_null, true, false, unknown)'),
  ],
  ['(a)=eq.1', failed('tree path ((a))', 1, 'unexpected "(" expecting field name (* or [a..z0..9_$])')],
  ['a;b=eq.1', failed('tree path (a;b)', 2, "unexpected ';' expecting delimiter (.) or end of input")],
  [
    'select=id,',
    failed(
      'select parameter (id,)',
      4,
      'unexpected end of input expecting "...", field name (* or [a..z0..9_$]) or "*"',
    ),
  ],
  ['select=id;x', failed('select parameter (id;x)', 3, 'unexpected \';\' expecting "," or end of input')],
  ['select=日本;x', failed('select parameter (日本;x)', 3, 'unexpected \';\' expecting "," or end of input')],
  ['select="id', failed('select parameter ("id)', 4, 'unexpected end of input expecting "\\""')],
  [
    'order=id.up',
    failed('order (id.up)', 4, 'unexpected "u" expecting "asc", "desc", "nullsfirst" or "nullslast"'),
  ],
  [
    'order=id.asc.nulls',
    failed('order (id.asc.nulls)', 8, 'unexpected "n" expecting "nullsfirst" or "nullslast"'),
  ],
  [
    'order=id.ascending',
    failed('order (id.ascending)', 7, 'unexpected \'e\' expecting delimiter (.), "," or end of input'),
  ],
  [
    'order=id.asc.nullslasttt',
    failed('order (id.asc.nullslasttt)', 17, 'unexpected \'t\' expecting "," or end of input'),
  ],
  ['order=id,', failed('order (id,)', 4, 'unexpected end of input expecting field name (* or [a..z0..9_$])')],
  ['limit=ten', failed('limit (ten)', 1, 'unexpected "ten" expecting a whole number of at most 15 digits')],
  ['limit=1.5', failed('limit (1.5)', 1, 'unexpected "1.5" expecting a whole number of at most 15 digits')],
  ['id=eq.%FF', failed('query string (id=eq.%FF)', 1, 'unexpected percent-encoding expecting UTF-8')],
  ['select=a&select=b', failed('query string (select)', 1, 'unexpected second "select" expecting one')],
  [
    'limit=-1',
    '416 PGRST103 Requested range not satisfiable | Limit should be greater than or equal to zero.',
  ],
  [
    'select=data->',
    failed(
      'select parameter (data->)',
      7,
      'unexpected end of input expecting any non reserved character different from: .,>()',
    ),
  ],
  ['select=data->>--34', failed('select parameter (data->>--34)', 9, 'unexpected "-" expecting digit')],
  ['select=data->-5x', failed('select parameter (data->-5x)', 9, 'unexpected "x" expecting digit')],
  ['data->>--34=eq.1', failed('tree path (data->>--34)', 9, 'unexpected "-" expecting digit')],
  ['order=data->-', failed('order (data->-)', 8, 'unexpected end of input expecting digit')],
  ['or=(data->--1.eq.1)', failed('logic tree ((data->--1.eq.1))', 11, 'unexpected "-" expecting digit')],
  [
    'select=data->a--b',
    failed('select parameter (data->a--b)', 8, 'unexpected \'-\' expecting "," or end of input'),
  ],
  ['select=data->>""', failed('select parameter (data->>"")', 8, `unexpected "\\"" expecting ${KEY}`)],
  ['select=data->> ', failed('select parameter (data->> )', 8, `unexpected " " expecting ${KEY}`)],
  ['data->""=eq.1', failed('tree path (data->"")', 7, `unexpected "\\"" expecting ${KEY}`)],
  ['select=data->a%00b', failed('select parameter (data->a\0b)', 7, `unexpected "a" expecting ${KEY}`)],
  [
    'select=data->>"a%00b"',
    failed('select parameter (data->>"a\0b")', 8, `unexpected "\\"" expecting ${KEY}`),
  ],
  ['or=(data->a%00b.eq.1)', failed('logic tree ((data->a\0b.eq.1))', 10, `unexpected "a" expecting ${KEY}`)],
  ['select=a(b', failed('select parameter (a(b)', 4, 'unexpected end of input expecting "," or ")"')],
  ['select=a(b))', failed('select parameter (a(b)))', 5, 'unexpected \')\' expecting "," or end of input')],
  ['select=a(b;c)', failed('select parameter (a(b;c))', 4, 'unexpected ";" expecting "," or ")"')],
  ['select=a!x', failed('select parameter (a!x)', 4, 'unexpected end of input expecting "("')],
  [
    'select=a!b!c(id)',
    failed('select parameter (a!b!c(id))', 5, 'unexpected "c" expecting "inner" or "left"'),
  ],
  ['select=...a', failed('select parameter (...a)', 5, 'unexpected end of input expecting "("')],
  [
    'select=a.total()',
    failed(
      'select parameter (a.total())',
      3,
      'unexpected "t" expecting "avg()", "count()", "max()", "min()" or "sum()"',
    ),
  ],
  [
    'select=a.sum',
    failed(
      'select parameter (a.sum)',
      3,
      'unexpected "s" expecting "avg()", "count()", "max()", "min()" or "sum()"',
    ),
  ],
  ['order=a(b', failed('order (a(b)', 4, 'unexpected end of input expecting ")"')],
  ['order=a(b(c)', failed('order (a(b(c))', 7, 'unexpected end of input expecting ")"')],
  ['order=a()', failed('order (a())', 3, `unexpected ")" expecting ${NAME}`)],
  [
    'order=a!fk(b)',
    failed('order (a!fk(b))', 2, `unexpected '!' expecting delimiter (.), "," or end of input`),
  ],
  [
    'order=a.sum()x',
    failed('order (a.sum()x)', 8, `unexpected 'x' expecting delimiter (.), "," or end of input`),
  ],
  ['order=a::int', failed('order (a::int)', 7, 'unexpected end of input expecting delimiter (.)')],
  ['order=a::int.desc', failed('order (a::int.desc)', 12, 'unexpected end of input expecting delimiter (.)')],
  ['having=', failed('having ()', 1, `unexpected end of input expecting ${NAME}`)],
  ['having=amount', failed('having (amount)', 7, 'unexpected end of input expecting delimiter (.)')],
  ['having=amount.gt.100', failed('having (amount.gt.100)', 8, `unexpected "g" expecting ${AGGREGATE}`)],
  [
    'having=amount.sum()',
    failed('having (amount.sum())', 13, 'unexpected end of input expecting delimiter (.)'),
  ],
  [
    'having=amount.sum().more.1',
    failed('having (amount.sum().more.1)', 14, 'unexpected "m" expecting "not" or operator (eq, gt, ...)'),
  ],
  [
    'having=and(count().gt.1',
    failed('having (and(count().gt.1)', 17, 'unexpected end of input expecting "," or ")"'),
  ],
  ['having=or(a.gt.1)', failed('having (or(a.gt.1))', 6, `unexpected "g" expecting ${AGGREGATE}`)],
  [
    'having=or(count().gt.1)x',
    failed('having (or(count().gt.1)x)', 17, "unexpected 'x' expecting end of input"),
  ],
  ['distinct=id', failed('distinct (id)', 1, 'unexpected "i" expecting "on."')],
  ['distinct=on.id', failed('distinct (on.id)', 4, 'unexpected "i" expecting "*" or "("')],
  ['distinct=on.*,id', failed('distinct (on.*,id)', 5, "unexpected ',' expecting end of input")],
  ['distinct=on.(id', failed('distinct (on.(id)', 7, 'unexpected end of input expecting "," or ")"')],
  ['distinct=on.()', failed('distinct (on.())', 5, `unexpected ")" expecting ${NAME}`)],
  ['distinct=on.(id.desc)', failed('distinct (on.(id.desc))', 7, 'unexpected "." expecting "," or ")"')],
  [
    'distinct=on.*&distinct=on.*',
    failed('query string (distinct)', 1, 'unexpected second "distinct" expecting one'),
  ],
  ['or=a.eq.1', failed('logic tree (a.eq.1)', 3, 'unexpected "a" expecting "("')],
  ['or=(a.eq.1', failed('logic tree ((a.eq.1)', 10, 'unexpected end of input expecting "," or ")"')],
  [
    'or=()',
    failed(
      'logic tree (())',
      4,
      'unexpected ")" expecting field name (* or [a..z0..9_$]), negation operator (not) or logic operator (and, or)',
    ),
  ],
  [
    'not.or=(a.bad.1)',
    failed('logic tree ((a.bad.1))', 10, 'unexpected "b" expecting "not" or operator (eq, gt, ...)'),
  ],
  ['and=(a.eq.1)x', failed('logic tree ((a.eq.1)x)', 12, "unexpected 'x' expecting end of input")],
  [
    'and=(a.is.x)',
    failed(
      'logic tree ((a.is.x))',
      10,
      'unexpected "x" expecting isVal: (null, not_null, true, false, unknown)',
    ),
  ],
  ['a=eq(some).{1}', failed('filter (eq(some).{1})', 4, 'unexpected "s" expecting "any)" or "all)"')],
  ['a=neq(any).{1}', failed('filter (neq(any).{1})', 4, 'unexpected "(" expecting delimiter (.)')],
  ['a=fts(english.b', failed('filter (fts(english.b)', 12, 'unexpected "." expecting ")"')],
  ['a.b=5', failed('filter (5)', 1, 'unexpected "5" expecting "not" or operator (eq, gt, ...)')],
  ['a.limit=x', failed('limit (x)', 1, 'unexpected "x" expecting a whole number of at most 15 digits')],
  ['a.order=b&a.order=c', failed('query string (a.order)', 1, 'unexpected second "a.order" expecting one')],
];

const many = (count: number, piece: string, glue: string): string =>
  Array.from({ length: count }, () => piece).join(glue);
const limits: [what: string, query: string, fault: string][] = [
  ['501 filters', many(501, 'a=eq.1', '&'), 'at most 500 filters'],
  ['501 items', `select=${many(501, 'a', ',')}`, '"select" has at most 500 items'],
  ['501 filters of groups', many(501, 'having=count().gt.1', '&'), 'at most 500 filters'],
  ['11 relations', `order=${many(11, 'a(', '')}b${many(11, ')', '')}`, 'at most 10 relations in an order'],
  ['501 terms', `distinct=on.(${many(501, 'a', ',')})`, '"distinct" has at most 500 terms'],
  ['501 order terms', `order=${many(501, 'a', ',')}`, '"order" has at most 500 terms'],
  ['5,001 values', `a=in.(${many(5001, '1', ',')})`, '"in" takes at most 5000 values'],
  [
    '501 filters in trees',
    `or=(${many(250, 'a.eq.1', ',')})&x.or=(${many(251, 'a.eq.1', ',')})`,
    'at most 500 filters',
  ],
  // Text behind a limit has not been parsed.
  ['501 filters before a fault', `or=(${many(501, 'a.eq.1', ',')},%00`, 'at most 500 filters'],
  [
    '501 filters of groups before a fault',
    `having=or(${many(501, 'count().gt.1', ',')},%00`,
    'at most 500 filters',
  ],
  [
    'limits of 502 embeds',
    Array.from({ length: 502 }, (_, i) => `k${i}.limit=1`).join('&'),
    'parameters of at most 500 embedded resources',
  ],
  ...['fts', 'plfts', 'phfts', 'wfts', 'fts(english)', 'like', 'ilike', 'match(any)', 'imatch'].map(
    (operator): [string, string, string] => [
      `"${operator}" of 8,193 characters`,
      `a=${operator}.${"'".repeat(8_193)}`,
      `"${/^[a-z]+/.exec(operator)?.[0]}" takes at most 8192 characters`,
    ],
  ),
  [
    'a search of 8,193 characters in a tree',
    `or=(a.fts.${'x'.repeat(8_193)},b.eq.1)`,
    '"fts" takes at most 8192 characters',
  ],
  ['501 items below others', `select=${many(250, 'a(b)', ',')},a`, '"select" has at most 500 items'],
  [
    '21 trees in each other',
    `or=${'(and'.repeat(20)}(a.eq.1${')'.repeat(21)}`,
    '"and" and "or" nest at most 20 deep',
  ],
  [
    '11 embeds in each other',
    `select=${'a('.repeat(11)}b${')'.repeat(11)}`,
    'embedded resources nest at most 10 deep',
  ],
  ['a path of 13 names', `${'a.'.repeat(13)}b=eq.1`, 'at most 12 names in a path'],
  ['a JSON path of 101 steps', `select=a${'->b'.repeat(101)}`, 'at most 100 steps in a JSON path'],
  ['a name of 64 bytes', `select=${'é'.repeat(32)}`, 'a name has at most 63 bytes'],
];

describe('a refused query', () => {
  test.each(refused)('%s', (query, fault) => {
    expect(faultOf(() => parseReadQuery(query))).toBe(fault);
  });

  test.each(limits)('with %s', (_, query, fault) => {
    expect(faultOf(() => parseReadQuery(query))).toBe(
      `400 PGRST100 Request exceeds a limit: ${fault} | null`,
    );
  });

  test('is accepted just below each limit', () => {
    const query = [
      many(500, 'a=eq.1', '&'),
      `select=${many(500, 'a', ',')}`,
      `order=${many(500, 'a', ',')}`,
    ].join('&');
    expect(parseReadQuery(query).filters).toHaveLength(500);
    expect(parseReadQuery(`a=fts.${'x'.repeat(8_192)}&b=eq.${'x'.repeat(9_000)}`).filters).toHaveLength(2);
    const limited = Array.from({ length: 500 }, (_, i) => `k${i}.limit=1`).join('&');
    expect(parseReadQuery(`${limited}&limit=1`).embedded).toHaveLength(500);
    expect(parseReadQuery(`a=in.(${many(5000, '1', ',')})`).filters).toHaveLength(1);
    expect(parseReadQuery(`or=${'(and'.repeat(19)}(a.eq.1${')'.repeat(20)}`).filters).toHaveLength(1);
    expect(parseReadQuery(`select=${'a('.repeat(10)}b${')'.repeat(10)}`).select).toHaveLength(1);
    expect(parseReadQuery(`select=${'é'.repeat(31)}`).select).toHaveLength(1);
  });
});
