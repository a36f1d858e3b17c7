import { describe, expect, test } from 'vitest';
import { parseReadQuery } from '../../../src/modules/dbrest/request/index.ts';

const column = (name: string, more = {}) => ({ kind: 'column', column: name, ...more });

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
];

const text = (value: string) => ({ kind: 'text', text: value });
const filters: [query: string, expected: object][] = [
  ['id=eq.5', { column: 'id', negated: false, operator: 'eq', operand: text('5') }],
  ['id=not.eq.5', { column: 'id', negated: true, operator: 'eq', operand: text('5') }],
  ['name=like.*a%25b*', { column: 'name', negated: false, operator: 'like', operand: text('*a%b*') }],
  ['a+b=eq.c+d%2Be', { column: 'a b', negated: false, operator: 'eq', operand: text('c d+e') }],
  ['%22a.b%22=eq.x.y', { column: 'a.b', negated: false, operator: 'eq', operand: text('x.y') }],
  ['id=eq.', { column: 'id', negated: false, operator: 'eq', operand: text('') }],
  ['id=in.()', { column: 'id', negated: false, operator: 'in', operand: { kind: 'list', values: [] } }],
  [
    'id=in.(1,2)',
    { column: 'id', negated: false, operator: 'in', operand: { kind: 'list', values: ['1', '2'] } },
  ],
  [
    'id=in.(a,"b,)",,"\\"")',
    {
      column: 'id',
      negated: false,
      operator: 'in',
      operand: { kind: 'list', values: ['a', 'b,)', '', '"'] },
    },
  ],
  ['id=is.null', { column: 'id', negated: false, operator: 'is', operand: { kind: 'truth', truth: 'null' } }],
  [
    'id=not.is.TRUE',
    { column: 'id', negated: true, operator: 'is', operand: { kind: 'truth', truth: 'true' } },
  ],
  [
    't=fts.english.cat',
    { column: 't', negated: false, operator: 'fts', operand: { kind: 'search', query: 'english.cat' } },
  ],
  [
    't=wfts(french).le+chat',
    {
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

  test('selects everything and starts at the first row when nothing is said', () => {
    expect(parseReadQuery('')).toEqual({ select: [{ kind: 'all' }], filters: [], order: [], offset: 0 });
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
