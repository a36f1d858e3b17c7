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

  test.each(orders)('reads order=%s', (value, expected) => {
    expect(parseReadQuery(`order=${value}`).order).toEqual(expected);
  });

  test('selects everything from the first row by default', () => {
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

  test('ignores parameters that only writes use', () => {
    expect(parseReadQuery('columns=a&on_conflict=b').filters).toEqual([]);
  });
});
