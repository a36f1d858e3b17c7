import { describe } from 'vitest';
import { type FaultCase, fixtureGateway, givesFaults, givesRows } from '../fixture/gateway.ts';

const gateway = fixtureGateway();

const ids = (...of: number[]): object[] => of.map((id) => ({ id }));
/** `table: filter` → ids. */
const filters = (table: string, cases: readonly (readonly [filter: string, ids: readonly number[]])[]) =>
  givesRows(
    gateway,
    cases.map(([filter, of]) => [`${table}?select=id&order=id&${filter}`, ids(...of)]),
  );

describe('comparisons', () => {
  filters('employees', [
    ['salary=eq.3000.50', [2]],
    ['salary=neq.3000.5', [1, 3, 4]],
    ['salary=gt.3500', [1, 3]],
    ['salary=gte.3500', [1, 3, 4]],
    ['salary=lt.3500', [2]],
    ['salary=lte.3500', [2, 4]],
    ['salary=not.gt.3500', [2, 4]],
    ['salary=isdistinct.5000', [2, 3, 4, 5]],
    ['salary=not.isdistinct.5000', [1]],
    ['hired=gt.2021-12-31', [4, 5]],
    ['name=like.*e', [4, 5]],
    ['name=not.like.*e', [1, 2, 3]],
    ['name=like.%25o%25', [2]],
    ['name=like._ob', [2]],
    ['name=ilike.*E*', [4, 5]],
    ['name=match.^[AB]', [1, 2]],
    ['name=imatch.^[ab]', [1, 2]],
    ['name=not.imatch.^[ab]', [3, 4, 5]],
    ['id=in.(1,3, 5)', [1, 3, 5]],
    ['id=not.in.(1,3)', [2, 4, 5]],
    ['id=in.()', []],
    ['id=in.(   )', []],
    ['id=in.( 2, 3 ) ', [2, 3]],
    ['id=not.in.()', [1, 2, 3, 4, 5]],
    ['name=in.("Ann",Bob,"C\\id")', [1, 2, 3]],
  ]);
});

describe('values', () => {
  filters('samples', [
    ['flag=is.true', [1]],
    ['flag=is.false', [2]],
    ['flag=is.unknown', [3]],
    ['flag=is.null', [3]],
    ['flag=is.not_null', [1, 2]],
    ['flag=not.is.not_null', [3]],
    ['flag=is.NULL', [3]],
    ['flag=not.is.True', [2, 3]],
    ['word=is.null', [3]],
    ['flag=eq.true', [1]],
    ['flag=eq.f', [2]],
  ]);
});

describe('any and all', () => {
  filters('employees', [
    ['id=eq(any).{1,3}', [1, 3]],
    ['id=eq(all).{1,1}', [1]],
    ['id=gt(any).{3,9}', [4, 5]],
    ['id=gte(all).{3,4}', [4, 5]],
    ['id=lt(any).{1,3}', [1, 2]],
    ['id=lte(all).{2,3}', [1, 2]],
    ['id=not.lte(all).{2,3}', [3, 4, 5]],
    ['name=like(any).{A*,*b}', [1, 2]],
    ['name=like(all).{*e,D*}', [4]],
    ['name=ilike(any).{a*,*B}', [1, 2]],
    ['name=match(any).{^A,b$}', [1, 2]],
    ['name=imatch(all).{^d,E$}', [4]],
    ['or=(id.eq(any).{1,2},name.like(any).{E*})', [1, 2, 5]],
  ]);
});

describe('arrays and JSON', () => {
  filters('products', [
    ['tags=cs.{tool}', [1, 2]],
    ['tags=cs.{tool,steel}', [1]],
    ['tags=cs.{"two words"}', [3]],
    ['tags=cd.{tool,steel,wood}', [1, 2, 4]],
    ['tags=ov.{steel,wood}', [1, 3]],
    ['tags=not.ov.{steel,wood}', [2, 4]],
    ['tags=eq.{}', [4]],
    ['attributes=cs.{"weight":0.7}', [2]],
    ['attributes=cs.{"sizes":[1]}', [1]],
    ['attributes=cd.{"sizes":[10],"x":1}', [3]],
    ['attributes->sizes=cs.[10]', [3]],
    ['attributes->>weight=gt.0', [1, 2]],
  ]);
});

describe('ranges', () => {
  filters('ranges', [
    ['n=eq.[1,5)', [1]],
    ['n=eq.[1,4]', [1]],
    ['n=cs.[2,3]', [1]],
    ['n=cd.[0,10)', [1, 2]],
    ['n=ov.[4,6)', [1, 2]],
    ['n=sl.[9,10)', [1, 2]],
    ['n=sr.[5,6)', [3]],
    ['n=nxr.[1,9)', [1, 2]],
    ['n=nxl.[5,6)', [2, 3]],
    ['n=adj.[9,10)', [2]],
    ['n=adj.[5,20)', [1, 3]],
    ['n=not.adj.[5,20)', [2]],
    ['d=cs.[2024-01-15,2024-01-16)', [1]],
    ['d=eq.empty', [3]],
    ['m=ov.[2.5,2.5]', [1]],
    ['t=ov.["2024-01-01 12:00","2024-01-01 13:00")', [1]],
  ]);
});

describe('full text search', () => {
  filters('texts', [
    ['words=fts.cat', [1]],
    ['words=fts(english).cats', [1]],
    ['words=fts.english.cats', [1]],
    ['words=fts(english).cats%26!dogs', [1]],
    ['words=fts(english).cat|rat', [1, 3]],
    ['words=plfts(german).Katzen', [2]],
    ['words=phfts(english).cats sat', [1]],
    ['words=phfts(english).sat cats', []],
    ['words=wfts(english)."fat rat" or mats', [1, 3]],
    ['words=not.fts(english).cats', [2, 3]],
    ['body=fts(english).cat', [1]],
    ['header=fts(german).Katze', [2]],
    ['data=fts(english).cat', [1]],
    ['doc=plfts(english).black cat', [1]],
    ['doc->>t=fts(german).Katze', [2]],
    ['indexed=fts(simple).cats', [1]],
    ['or=(words.fts(english).cat,words.plfts(german).Matten)', [1, 2]],
  ]);
});

describe('other types', () => {
  filters('samples', [
    ['level=eq.high', [1]],
    ['level=gt.low', [1]],
    ['levels=cs.{low}', [1]],
    ['mail=eq.a@b.c', [1]],
    ['count=in.(3,4)', [1]],
    ['fixed=eq.ab', [1]],
    ['ref=eq.00000000-0000-0000-0000-00000000000A', [1]],
    ['net=eq.10.0.0.1/8', [1]],
    ['bits=eq.1010', [1]],
    ['grid=eq.{{1,2},{3,4}}', [1]],
    ['words=eq.{a,"b c",null,"quo\\"te"}', [1]],
    ['span=gt.1 day', [1]],
    ['at_tz=eq.2001-02-03 02:05:06Z', [1]],
    ['at_tz=eq.2001-02-03T04:05:06+02:00', [1]],
    ['at=eq.-infinity', [3]],
    ['ratio=eq.NaN', [3]],
    ['big=eq.9007199254740993', [1]],
    ['amount=eq.1234567890.123456789012345678901', [1]],
    ['cost->>currency=eq.EUR', [1]],
    ['word=eq.', [2]],
  ]);
});

const faults: readonly FaultCase[] = [
  [
    'employees?id=0',
    400,
    'PGRST100',
    {
      message: '"failed to parse filter (0)" (line 1, column 1)',
      details: 'unexpected "0" expecting "not" or operator (eq, gt, ...)',
      hint: null,
    },
  ],
  [
    'employees?id=noop.0',
    400,
    'PGRST100',
    { message: '"failed to parse filter (noop.0)" (line 1, column 1)' },
  ],
  [
    'employees?id=not.noop.0',
    400,
    'PGRST100',
    { message: '"failed to parse filter (not.noop.0)" (line 1, column 5)' },
  ],
  ['employees?id=eq(some).{1}', 400, 'PGRST100'],
  ['employees?id=neq(any).{1}', 400, 'PGRST100'],
  ['employees?id=in.1,2', 400, 'PGRST100', { details: 'unexpected "1" expecting "("' }],
  [
    'employees?id=is.maybe',
    400,
    'PGRST100',
    { details: 'unexpected "m" expecting isVal: (null, not_null, true, false, unknown)' },
  ],
  ['employees?id=in.( ,3)', 400, '22P02', { message: 'invalid input syntax for type integer: ""' }],
  ['employees?id=eq.x', 400, '22P02', { message: 'invalid input syntax for type integer: "x"' }],
  ['employees?id=like.1*', 404, '42883'],
  ['employees?salary=is.true', 400, '42804'],
  ['samples?level=eq.nope', 400, '22P02'],
  ['ranges?n=ov.x', 400, '22P02'],
  ['texts?words=fts(nope).cat', 400, '42704', { message: 'text search configuration "nope" does not exist' }],
  ['texts?words=fts(english).cat dog', 400, 'PGRST100'],
  ['employees?nope=eq.1', 400, '42703', { message: 'column employees.nope does not exist' }],
];
describe('invalid operators and values', () => {
  givesFaults(gateway, faults);
});
