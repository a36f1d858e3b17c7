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
  ['id::text', [column('id', { cast: { name: 'text' } })]],
  ['a:id::double precision', [column('id', { alias: 'a', cast: { name: 'double precision' } })]],
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
  ['data->"--34"->a-b', [column('data', { path: [step('->', '--34'), step('->', 'a-b')] })]],
  ['data->1a', [column('data', { path: [step('->', '1a')] })]],
  ['data->"a.b, (c)"->>d-e', [column('data', { path: [step('->', 'a.b, (c)'), step('->>', 'd-e')] })]],
  ['x:data->>a::int', [column('data', { alias: 'x', path: [step('->>', 'a')], cast: { name: 'int' } })]],
  ['a::numeric(10, 2)', [column('a', { cast: { name: 'numeric', modifiers: [10, 2] } })]],
  [
    'a::timestamp(0) with time zone[]',
    [column('a', { cast: { name: 'timestamp with time zone', modifiers: [0], isArray: true } })],
  ],
  ['a::s."t.u".max()', [column('a', { cast: { schema: 's', name: 't.u' }, aggregate: 'max' })]],
  ['tags::text[]', [column('tags', { cast: { name: 'text', isArray: true } })]],
  ['count()', [{ kind: 'count' }]],
  ['n:count()::text', [{ kind: 'count', alias: 'n', cast: { name: 'text' } }]],
  ['count', [column('count')]],
  ['amount.sum()', [column('amount', { aggregate: 'sum' })]],
  [
    'a:b::int.avg()::text',
    [column('b', { alias: 'a', cast: { name: 'int' }, aggregate: 'avg', aggregateCast: { name: 'text' } })],
  ],
  [
    'data->>a::int.max()',
    [column('data', { path: [step('->>', 'a')], cast: { name: 'int' }, aggregate: 'max' })],
  ],
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

const orders: [text: string, expected: object[]][] = [
  ['', []],
  ['id', [{ column: 'id' }]],
  ['id.desc', [{ column: 'id', direction: 'desc' }]],
  ['id.nullsfirst', [{ column: 'id', nulls: 'nullsfirst' }]],
  ['data->a->>0.desc', [{ column: 'data', path: [step('->', 'a'), step('->>', 0)], direction: 'desc' }]],
  [
    'clients(name).desc.nullslast',
    [{ relations: ['clients'], column: 'name', direction: 'desc', nulls: 'nullslast' }],
  ],
  ['c(data->a),id', [{ relations: ['c'], column: 'data', path: [step('->', 'a')] }, { column: 'id' }]],
  [
    'a.asc.nullslast,"b.c".desc',
    [
      { column: 'a', direction: 'asc', nulls: 'nullslast' },
      { column: 'b.c', direction: 'desc' },
    ],
  ],
  ['a( b( "c d" ) ).asc', [{ relations: ['a', 'b'], column: 'c d', direction: 'asc' }]],
  ['count,count()', [{ column: 'count' }, { aggregate: 'count' }]],
  ['amount.sum().desc', [{ aggregate: 'sum', field: { column: 'amount' }, direction: 'desc' }]],
  [
    'data->a::int.max().nullsfirst,sum',
    [
      {
        aggregate: 'max',
        field: { column: 'data', path: [step('->', 'a')] },
        cast: { name: 'int' },
        nulls: 'nullsfirst',
      },
      { column: 'sum' },
    ],
  ],
  ['a(orders(count))', [{ relations: ['a', 'orders'], column: 'count' }]],
  [
    'orders(count()),orders(id.avg()).desc',
    [
      { relations: ['orders'], aggregate: 'count' },
      { relations: ['orders'], aggregate: 'avg', field: { column: 'id' }, direction: 'desc' },
    ],
  ],
];

const sum = { aggregate: 'sum', field: { column: 'amount' } };
const compared = (operator: string, operand: object, more = {}): object => {
  return { kind: 'filter', negated: false, operator, operand, ...more };
};
const havings: [query: string, expected: object][] = [
  ['having=amount.sum().gt.100', { ...sum, ...compared('gt', text('100')) }],
  [
    'having=count().not.in.(1,2)',
    { aggregate: 'count', ...compared('in', { kind: 'list', values: ['1', '2'] }, { negated: true }) },
  ],
  [
    'having=amount::int8.sum().is.null',
    { ...sum, cast: { name: 'int8' }, ...compared('is', { kind: 'truth', truth: 'null' }) },
  ],
  [
    'having="eq".max().eq.count()',
    { aggregate: 'max', field: { column: 'eq' }, ...compared('eq', text('count()')) },
  ],
  [
    'having=not.or(count().gt.1, and(amount.sum().lt(all).{1,2}))',
    {
      kind: 'or',
      negated: true,
      terms: [
        { aggregate: 'count', ...compared('gt', text('1')) },
        {
          kind: 'and',
          negated: false,
          terms: [{ ...sum, ...compared('lt', text('{1,2}'), { quantifier: 'all' }) }],
        },
      ],
    },
  ],
];

const distincts: [text: string, expected: unknown][] = [
  ['on.*', 'rows'],
  ['on.(id)', [{ column: 'id' }]],
  [
    'on.( a->>b , c(d) , count())',
    [{ column: 'a', path: [step('->>', 'b')] }, { relations: ['c'], column: 'd' }, { aggregate: 'count' }],
  ],
];

const columns: [query: string, expected: object][] = [
  ['having=eq.1', { column: 'having', operator: 'eq' }],
  ['having=not.in.(1)', { column: 'having', operator: 'in' }],
  ['having=like(any).{count()}', { column: 'having', operator: 'like' }],
  ['distinct=is.true', { column: 'distinct', operator: 'is' }],
  ['"distinct"=eq.on.*', { column: 'distinct', operator: 'eq' }],
  ['having->a=eq.1', { column: 'having', operator: 'eq' }],
];

describe('parseReadQuery', () => {
  test.each(selects)('reads select=%s', (value, expected) => {
    expect(parseReadQuery(`select=${value}`).select).toEqual(expected);
  });

  test.each(filters)('reads the filter %s', (query, expected) => {
    expect(parseReadQuery(query).filters).toEqual([expected]);
  });

  test.each(orders)('reads order=%s', (value, expected) => {
    expect(parseReadQuery(`order=${value}`).order).toEqual(expected);
  });

  test('selects everything from the first row by default', () => {
    expect(parseReadQuery('')).toEqual({
      select: [{ kind: 'all' }],
      filters: [],
      having: [],
      distinct: [],
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

  test('ignores parameters that only writes use', () => {
    expect(parseReadQuery('columns=a&on_conflict=b').filters).toEqual([]);
  });
});

describe('parseReadQuery, of groups,', () => {
  test.each(havings)('reads %s', (query, expected) => {
    expect(parseReadQuery(query)).toMatchObject({ filters: [], having: [expected] });
  });

  test.each(distincts)('reads distinct=%s', (value, expected) => {
    expect(parseReadQuery(`distinct=${value}`)).toMatchObject({ filters: [], distinct: expected });
  });

  test.each(columns)('reads %s as a filter of a column', (query, expected) => {
    const { filters: found, having, distinct } = parseReadQuery(query);
    expect({ found, having, distinct }).toMatchObject({
      found: [expected],
      having: [],
      distinct: [],
    });
  });

  test('reads filters of groups and distinct rows of embeds', () => {
    expect(parseReadQuery('select=a(b())&a.having=count().gt.1&a.b.distinct=on.*').embedded).toMatchObject([
      { path: ['a'], having: [{ aggregate: 'count' }] },
      { path: ['a', 'b'], distinct: 'rows' },
    ]);
  });
});
