import { expect, test } from 'vitest';
import { parseReadQuery } from '../../../src/modules/dbrest/request/index.ts';

const step = (arrow: string, key: string | number) => ({ arrow, key });
const text = (value: string) => ({ kind: 'text', text: value });
const isNull = (column: string) => ({
  kind: 'filter',
  column,
  negated: false,
  operator: 'is',
  operand: { kind: 'truth', truth: 'null' },
});
const eq = (column: string, value: string, more = {}) => ({
  kind: 'filter',
  column,
  negated: false,
  operator: 'eq',
  operand: text(value),
  ...more,
});
const like = (value: string, quantifier: string) => eq('a', value, { operator: 'like', quantifier });
const group = (kind: string, negated: boolean, ...terms: object[]) => ({ kind, negated, terms });
const list = (...values: string[]) => ({ operator: 'in', operand: { kind: 'list', values } });

const trees: [query: string, expected: object][] = [
  ['data->>a=eq.1', eq('data', '1', { path: [step('->>', 'a')] })],
  ['data->0->b=eq.1', eq('data', '1', { path: [step('->', 0), step('->', 'b')] })],
  ['a=eq(any).{1,2}', eq('a', '{1,2}', { quantifier: 'any' })],
  ['a=not.like(all).{*x,y*}', { ...like('{*x,y*}', 'all'), negated: true }],
  ['a=in.("b"c,d)', eq('a', '', list('"b"c', 'd'))],
  ['a=in.("b,c)', eq('a', '', list('"b', 'c'))],
  ['or=(a.eq.1,b.eq.2)', group('or', false, eq('a', '1'), eq('b', '2'))],
  ['not.and=(a.eq.1)', group('and', true, eq('a', '1'))],
  ['and=( a.eq.1 , b.not.eq.2 )', group('and', false, eq('a', '1 '), eq('b', '2 ', { negated: true }))],
  [
    'or=(a.eq.1,not.and(b.eq.2,or(c.eq.3,d.eq.4)))',
    group(
      'or',
      false,
      eq('a', '1'),
      group('and', true, eq('b', '2'), group('or', false, eq('c', '3'), eq('d', '4'))),
    ),
  ],
  ['or=(a.in.(1,2),b.is.null)', group('or', false, eq('a', '', list('1', '2')), isNull('b'))],
  ['or=(a.eq."x,(y)",b.eq.)', group('or', false, eq('a', 'x,(y)'), eq('b', ''))],
  [
    'or=(a.cs.{1,2},b.eq.{"x}",{y}})',
    group('or', false, eq('a', '{1,2}', { operator: 'cs' }), eq('b', '{"x}",{y}}')),
  ],
  [
    'or=(a.like(any).{*x,y*},data->>k.eq.1)',
    group('or', false, like('{*x,y*}', 'any'), eq('data', '1', { path: [step('->>', 'k')] })),
  ],
  ['or=(and.eq.1,not.eq.2)', group('or', false, eq('and', '1'), eq('not', '2'))],
  [
    'or=("a.b".eq.1,a.fts(english).b)',
    group(
      'or',
      false,
      eq('a.b', '1'),
      eq('a', '', { operator: 'fts', operand: { kind: 'search', config: 'english', query: 'b' } }),
    ),
  ],
];

const embedded: [query: string, expected: object][] = [
  ['orders.id=eq.1', { path: ['orders'], filters: [eq('id', '1')] }],
  [
    'orders.items.data->>a=eq.1',
    { path: ['orders', 'items'], filters: [eq('data', '1', { path: [step('->>', 'a')] })] },
  ],
  ['orders.or=(a.eq.1)', { path: ['orders'], filters: [group('or', false, eq('a', '1'))] }],
  [
    'orders.items.not.and=(a.eq.1)',
    { path: ['orders', 'items'], filters: [group('and', true, eq('a', '1'))] },
  ],
  ['orders.order=id.desc', { path: ['orders'], order: [{ column: 'id', direction: 'desc' }] }],
  ['orders.limit=2&orders.offset=1', { path: ['orders'], limit: 2, offset: 1 }],
  ['"a.b"."limit"=eq.1', { path: ['a.b'], filters: [eq('limit', '1')] }],
];

test.each(trees)('reads the tree %s', (query, expected) => {
  expect(parseReadQuery(query).filters).toEqual([expected]);
});

test.each(embedded)('reads %s as part of an embed', (query, expected) => {
  expect(parseReadQuery(query)).toMatchObject({
    filters: [],
    embedded: [{ filters: [], order: [], offset: 0, ...expected }],
  });
});
