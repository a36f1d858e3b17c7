import { describe, expect, test } from 'vitest';
import { DbrestFault } from '../../../src/modules/dbrest/fault/index.ts';
import {
  chooseSchema,
  negotiateJson,
  parseReadQuery,
  refuseUnserved,
} from '../../../src/modules/dbrest/request/index.ts';

/** `status code message | details` of what a function throws. */
function faultOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof DbrestFault)
      return `${error.status} ${error.code} ${error.message} | ${error.details}`;
    throw error;
  }
  return 'no fault';
}

const failed = (what: string, at: number, details: string): string =>
  `400 PGRST100 "failed to parse ${what}" (line 1, column ${at}) | ${details}`;
const missing = (what: string): string =>
  `400 PGRST127 Feature not implemented | ${what} not implemented yet.`;

const refused: [query: string, fault: string][] = [
  ['id=5', failed('filter (5)', 1, 'unexpected "5" expecting "not" or operator (eq, gt, ...)')],
  ['id', failed('filter ()', 1, 'unexpected end of input expecting "not" or operator (eq, gt, ...)')],
  ['id=not.5', failed('filter (not.5)', 5, 'unexpected "5" expecting operator (eq, gt, ...)')],
  ['id=equal.5', failed('filter (equal.5)', 1, 'unexpected "e" expecting "not" or operator (eq, gt, ...)')],
  ['id=EQ.5', failed('filter (EQ.5)', 1, 'unexpected "E" expecting "not" or operator (eq, gt, ...)')],
  ['id=eq', failed('filter (eq)', 3, 'unexpected end of input expecting "."')],
  [
    'id=constructor.1',
    failed('filter (constructor.1)', 1, 'unexpected "c" expecting "not" or operator (eq, gt, ...)'),
  ],
  ['id=in.1', failed('filter (in.1)', 4, 'unexpected "1" expecting "("')],
  ['id=in.(1', failed('filter (in.(1)', 6, 'unexpected end of input expecting "," or ")"')],
  ['id=in.(1)x', failed('filter (in.(1)x)', 7, 'unexpected "x" expecting end of input')],
  [
    'id=is.nil',
    failed('filter (is.nil)', 4, 'unexpected "n" expecting null, not_null, true, false or unknown'),
  ],
  ['(a)=eq.1', failed('tree path ((a))', 1, 'unexpected "(" expecting field name')],
  ['a;b=eq.1', failed('tree path (a;b)', 2, 'unexpected ";" expecting "." or end of input')],
  [
    'select=id,',
    failed('select parameter (id,)', 4, 'unexpected end of input expecting field name, "*" or "..."'),
  ],
  ['select=id;x', failed('select parameter (id;x)', 3, 'unexpected ";" expecting "," or end of input')],
  ['select=日本;x', failed('select parameter (日本;x)', 3, 'unexpected ";" expecting "," or end of input')],
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
    failed('order (id.ascending)', 4, 'unexpected "a" expecting "asc", "desc", "nullsfirst" or "nullslast"'),
  ],
  ['order=id,', failed('order (id,)', 4, 'unexpected end of input expecting field name')],
  ['limit=ten', failed('limit (ten)', 1, 'expecting a whole number of at most 15 digits')],
  ['limit=1.5', failed('limit (1.5)', 1, 'expecting a whole number of at most 15 digits')],
  ['id=eq.%FF', failed('query string (id=eq.%FF)', 1, 'unexpected percent-encoding expecting UTF-8')],
  ['select=a&select=b', failed('query string (select)', 1, '"select" is given twice')],
  [
    'limit=-1',
    '416 PGRST103 Requested range not satisfiable | Limit should be greater than or equal to zero.',
  ],
  [
    'offset=-1',
    '416 PGRST103 Requested range not satisfiable | Offset should be greater than or equal to zero.',
  ],
  ['items.id=eq.1', "400 PGRST108 'items' is not an embedded resource in this request | null"],
  ['items.order=id', "400 PGRST108 'items' is not an embedded resource in this request | null"],
  ['select=id,items(*)', missing('Embedded resources are')],
  ['select=id,items!inner(id)', missing('Embedded resources are')],
  ['select=...items(id)', missing('Spread relationships are')],
  ['select=data->a', missing('JSON paths are')],
  ['select=amount.sum()', missing('Aggregates are')],
  ['select=count()', missing('Aggregates are')],
  ['data->>a=eq.1', missing('JSON paths are')],
  ['order=data->a', missing('JSON paths are')],
  ['order=items(id)', missing('Related orders are')],
  ['or=(a.eq.1,b.eq.2)', missing('Logic trees are')],
  ['not.and=(a.eq.1)', missing('Logic trees are')],
  ['id=eq(any).{1,2}', missing('Operator modifiers are')],
];

const many = (count: number, piece: string, glue: string): string =>
  Array.from({ length: count }, () => piece).join(glue);
const limits: [what: string, query: string, fault: string][] = [
  ['501 filters', many(501, 'a=eq.1', '&'), 'at most 500 filters'],
  ['501 items', `select=${many(501, 'a', ',')}`, '"select" has at most 500 items'],
  ['501 order terms', `order=${many(501, 'a', ',')}`, '"order" has at most 500 terms'],
  ['5,001 values', `a=in.(${many(5001, '1', ',')})`, '"in" takes at most 5000 values'],
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

  test('is within the limits one below each of them', () => {
    const query = [
      many(500, 'a=eq.1', '&'),
      `select=${many(500, 'a', ',')}`,
      `order=${many(500, 'a', ',')}`,
    ].join('&');
    expect(parseReadQuery(query).filters).toHaveLength(500);
    expect(parseReadQuery(`a=in.(${many(5000, '1', ',')})`).filters).toHaveLength(1);
    expect(parseReadQuery(`select=${'é'.repeat(31)}`).select).toHaveLength(1);
  });
});

describe('headers', () => {
  test.each([
    undefined,
    '*/*',
    'application/json',
    'text/html, application/*;q=0.1',
    'application/json; charset=utf-8',
  ])('%s accepts JSON', (accept) => {
    expect(faultOf(() => negotiateJson(accept))).toBe('no fault');
  });

  test.each(['text/csv', 'application/json;q=0', 'text/csv, application/vnd.pgrst.object+json'])(
    '%s gets 406 with the list',
    (accept) => {
      expect(faultOf(() => negotiateJson(accept))).toBe(
        `406 PGRST107 None of these media types are available: ${accept} | null`,
      );
    },
  );

  test('a profile chooses among the exposed schemas', () => {
    expect(chooseSchema(undefined, ['a', 'b'])).toBe('a');
    expect(chooseSchema('b', ['a', 'b'])).toBe('b');
    expect(faultOf(() => chooseSchema('c', ['a', 'b']))).toBe('406 PGRST106 Invalid schema: c | null');
  });

  const unserved: [headers: { prefer?: string; range?: string }, fault: string][] = [
    [{}, 'no fault'],
    [{ prefer: 'return=representation, handling=lenient, tx=commit' }, 'no fault'],
    [{ prefer: 'return=minimal, count=exact' }, missing('The preference "count" is')],
    [{ prefer: 'handling=strict' }, missing('The preference "handling" is')],
    [{ prefer: 'timezone=UTC' }, missing('The preference "timezone" is')],
    [{ range: '0-9' }, missing('Ranges in headers are')],
  ];
  test.each(unserved)('%j', ({ prefer, range }, fault) => {
    expect(faultOf(() => refuseUnserved({ prefer, range }))).toBe(fault);
  });
});
