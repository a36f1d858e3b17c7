import { describe, expect, test } from 'vitest';
import { parseReadQuery } from '../../../src/modules/dbrest/request/index.ts';

const column = (name: string, more = {}) => ({ kind: 'column', column: name, ...more });

const step = (arrow: string, key: string | number) => ({ arrow, key });
const embed = (target: string, more = {}) => ({ kind: 'embed', target, spread: false, select: [], ...more });

const selects: [text: string, expected: object[]][] = [
  ['*', [{ kind: 'all' }]],
  ['', []],
  ['id,name', [column('id'), column('name')]],
  ['*,id', [{ kind: 'all' }, column('id')]],
  ['n:name', [column('name', { alias: 'n' })]],
  ['id::text', [column('id', { cast: 'text' })]],
  ['a:id::double precision', [column('id', { alias: 'a', cast: 'double precision' })]],
  ['"a,b"', [column('a,b')]],
  ['"q\\"uo\\\\te"', [column('q"uo\\te')]],
  ['first name, last-name ', [column('first name'), column('last-name')]],
  ['ünï_çødé$1,列', [column('ünï_çødé$1'), column('列')]],
  ['"al:ias":id', [column('id', { alias: 'al:ias' })]],
  ['%22id%22', [column('id')]],
  [' id , name ', [column('id'), column('name')]],
  ['data->a', [column('data', { path: [step('->', 'a')] })]],
  ['data->a->>0', [column('data', { path: [step('->', 'a'), step('->>', 0)] })]],
  ['data->-1', [column('data', { path: [step('->', -1)] })]],
  ['data->1a', [column('data', { path: [step('->', '1a')] })]],
  ['data->"a.b, (c)"->>d-e', [column('data', { path: [step('->', 'a.b, (c)'), step('->>', 'd-e')] })]],
  ['x:data->>a::int', [column('data', { alias: 'x', path: [step('->>', 'a')], cast: 'int' })]],
  ['tags::text[]', [column('tags', { cast: 'text[]' })]],
  ['count()', [{ kind: 'count' }]],
  ['n:count()::text', [{ kind: 'count', alias: 'n', cast: 'text' }]],
  ['count', [column('count')]],
  ['amount.sum()', [column('amount', { aggregate: 'sum' })]],
  [
    'a:b::int.avg()::text',
    [column('b', { alias: 'a', cast: 'int', aggregate: 'avg', aggregateCast: 'text' })],
  ],
  ['data->>a::int.max()', [column('data', { path: [step('->>', 'a')], cast: 'int', aggregate: 'max' })]],
  ['orders(id)', [embed('orders', { select: [column('id')] })]],
  ['orders()', [embed('orders')]],
  [
    'o:orders!fk!inner(*)',
    [embed('orders', { alias: 'o', hint: 'fk', join: 'inner', select: [{ kind: 'all' }] })],
  ],
  ['orders!left!"my fk"()', [embed('orders', { join: 'left', hint: 'my fk' })]],
  ['...orders( id , name )', [embed('orders', { spread: true, select: [column('id'), column('name')] })]],
  ['a(b(c(d)))', [embed('a', { select: [embed('b', { select: [embed('c', { select: [column('d')] })] })] })]],
  ['"a,(b"(id),c', [embed('a,(b', { select: [column('id')] }), column('c')]],
];

const text = (value: string) => ({ kind: 'text', text: value });
const filters: [query: string, expected: object][] = [
  ['id=eq.5', { kind: 'filter', column: 'id', negated: false, operator: 'eq', operand: text('5') }],
  ['id=not.eq.5', { kind: 'filter', column: 'id', negated: true, operator: 'eq', operand: text('5') }],
  [
    'name=like.*a%25b*',
    { kind: 'filter', column: 'name', negated: false, operator: 'like', operand: text('*a%b*') },
  ],
  [
    'a+b=eq.c+d%2Be',
    { kind: 'filter', column: 'a b', negated: false, operator: 'eq', operand: text('c d+e') },
  ],
  [
    '%22a.b%22=eq.x.y',
    { kind: 'filter', column: 'a.b', negated: false, operator: 'eq', operand: text('x.y') },
  ],
  ['id=eq.', { kind: 'filter', column: 'id', negated: false, operator: 'eq', operand: text('') }],
  [
    'id=in.()',
    { kind: 'filter', column: 'id', negated: false, operator: 'in', operand: { kind: 'list', values: [] } },
  ],
  [
    'id=in.(1,2)',
    {
      kind: 'filter',
      column: 'id',
      negated: false,
      operator: 'in',
      operand: { kind: 'list', values: ['1', '2'] },
    },
  ],
  [
    'id=in.(a,"b,)",,"\\"")',
    {
      kind: 'filter',
      column: 'id',
      negated: false,
      operator: 'in',
      operand: { kind: 'list', values: ['a', 'b,)', '', '"'] },
    },
  ],
  [
    'id=is.null',
    {
      kind: 'filter',
      column: 'id',
      negated: false,
      operator: 'is',
      operand: { kind: 'truth', truth: 'null' },
    },
  ],
  [
    'id=not.is.TRUE',
    {
      kind: 'filter',
      column: 'id',
      negated: true,
      operator: 'is',
      operand: { kind: 'truth', truth: 'true' },
    },
  ],
  [
    't=fts.english.cat',
    {
      kind: 'filter',
      column: 't',
      negated: false,
      operator: 'fts',
      operand: { kind: 'search', query: 'english.cat' },
    },
  ],
  [
    't=wfts(french).le+chat',
    {
      kind: 'filter',
      column: 't',
      negated: false,
      operator: 'wfts',
      operand: { kind: 'search', config: 'french', query: 'le chat' },
    },
  ],
];

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

const orders: [text: string, expected: object[]][] = [
  ['', []],
  ['id', [{ column: 'id' }]],
  ['id.desc', [{ column: 'id', direction: 'desc' }]],
  ['id.nullsfirst', [{ column: 'id', nulls: 'nullsfirst' }]],
  ['data->a->>0.desc', [{ column: 'data', path: [step('->', 'a'), step('->>', 0)], direction: 'desc' }]],
  [
    'clients(name).desc.nullslast',
    [{ relation: 'clients', column: 'name', direction: 'desc', nulls: 'nullslast' }],
  ],
  ['c(data->a),id', [{ relation: 'c', column: 'data', path: [step('->', 'a')] }, { column: 'id' }]],
  [
    'a.asc.nullslast,"b.c".desc',
    [
      { column: 'a', direction: 'asc', nulls: 'nullslast' },
      { column: 'b.c', direction: 'desc' },
    ],
  ],
];

describe('parseReadQuery', () => {
  test.each(selects)('reads select=%s', (value, expected) => {
    expect(parseReadQuery(`select=${value}`).select).toEqual(expected);
  });

  test.each(filters)('reads the filter %s', (query, expected) => {
    expect(parseReadQuery(query).filters).toEqual([expected]);
  });

  test.each(trees)('reads the tree %s', (query, expected) => {
    expect(parseReadQuery(query).filters).toEqual([expected]);
  });

  test.each(embedded)('reads %s as a matter of an embed', (query, expected) => {
    expect(parseReadQuery(query)).toMatchObject({
      filters: [],
      embedded: [{ filters: [], order: [], offset: 0, ...expected }],
    });
  });

  test.each(orders)('reads order=%s', (value, expected) => {
    expect(parseReadQuery(`order=${value}`).order).toEqual(expected);
  });

  test('selects everything and starts at the first row when nothing is said', () => {
    expect(parseReadQuery('')).toEqual({
      select: [{ kind: 'all' }],
      filters: [],
      order: [],
      offset: 0,
      embedded: [],
    });
  });

  test('reads limit, offset and repeated filters of one column', () => {
    expect(parseReadQuery('limit=10&offset=20&&id=gt.1&id=lt.9')).toMatchObject({
      limit: 10,
      offset: 20,
      filters: [{ operator: 'gt' }, { operator: 'lt' }],
    });
  });

  test('gives what only writes use no meaning', () => {
    expect(parseReadQuery('columns=a&on_conflict=b').filters).toEqual([]);
  });
});
