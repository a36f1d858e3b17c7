import { describe, expect, test } from 'vitest';
import { callsOfFile, type Case, testResponses } from './calls.ts';

const calls = callsOfFile();

const ann = { id: 1, name: 'Ann', mail: 'ann@example.org', department_id: 1, manages_id: 1, boss_id: null };
const EXACT = { prefer: 'count=exact' };

const results: readonly Case[] = [
  ['GET add_them?a=1&b=2', 3],
  ['POST add_them {"a":1,"b":2}', 3],
  ['GET nothing_at_all', null],
  ['POST nothing_at_all', null],
  ['GET three_numbers', [1, 2, 3]],
  ['GET with_nulls', [1, null]],
  ['GET echo_json?j={"a":[1,null]}', { a: [1, null] }],
  ['POST get_employee?select=id,name,mail,department_id,manages_id,boss_id {"id":1}', ann],
  ['GET get_employee?id=99&select=id,name', { id: null, name: null }],
  ['GET all_employees?select=name&id=lt.3', [{ name: 'Ann' }, { name: 'Bob' }]],
  ['GET all_employees?id=gt.99', []],
  ['GET get_employee?id=1&name=eq.Bob', null],
  ['GET listed_clients?select=client_no&limit=1&order=client_no', [{ client_no: 1 }]],
  [
    'GET points?most=2',
    [
      { x: 1, y: 'a' },
      { x: 2, y: 'b' },
    ],
  ],
  ['GET one_column', [{ only_one: 1 }, { only_one: 2 }]],
  ['GET price', { amount: 12.5, currency: 'EUR' }],
  ['GET prices?currency=eq.USD', [{ amount: 3, currency: 'USD' }]],
  ['GET tagged', { amount: 1, currency: 'EUR' }],
  ['GET split?whole=42', { tens: 4, ones: 2 }],
  ['GET split?whole=42&select=ones', { ones: 2 }],
  ['GET one_out?n=2', { doubled: 4 }],
  ['GET out_first?n=2', { result: 3 }],
  ['GET swap?a=1&b=2', { a: '2', b: '1' }],
  ['GET any_record', { '?column?': 1, text: 'a' }],
  [
    'GET any_records',
    [
      { column1: 1, column2: 'a' },
      { column1: 2, column2: 'b' },
    ],
  ],
];
describe('a result', () => {
  testResponses(calls, results);
});

const rows: readonly Case[] = [
  ['GET three_numbers?order=three_numbers.desc&limit=2', [3, 2]],
  ['GET three_numbers?three_numbers=gte.2', [2, 3]],
  ['GET three_numbers?select=n:three_numbers&limit=1', [{ n: 1 }]],
  ['GET three_numbers?select=three_numbers.sum()', [{ sum: 6 }]],
  ['GET points?most=5&y=in.(b,d)&select=y&order=x.desc', [{ y: 'd' }, { y: 'b' }]],
  ['GET points?most=5&or=(x.eq.1,x.eq.5)&select=x', [{ x: 1 }, { x: 5 }]],
  [
    'GET points?most=5&offset=3',
    [
      { x: 4, y: 'd' },
      { x: 5, y: 'e' },
    ],
  ],
  ['POST points?x=eq.2 {"most":4}', [{ x: 2, y: 'b' }]],
  [
    'GET all_employees?select=name,departments!works_in(name)&id=eq.3',
    [{ name: 'Cid', departments: { name: 'Research' } }],
  ],
  ['GET get_employee?id=3&select=name,skills(name)', { name: 'Cid', skills: [{ name: 'go' }] }],
  [
    'GET all_employees?select=name,skills!inner(name)&skills.name=eq.tea',
    [{ name: 'Ann', skills: [{ name: 'tea' }] }],
  ],
  [
    'GET all_employees?select=name,boss(name)&boss.name=eq.Cid&boss=not.is.null',
    [
      { name: 'Dee', boss: { name: 'Cid' } },
      { name: 'Eve', boss: { name: 'Cid' } },
    ],
  ],
  ['GET all_employees?select=count()', [{ count: 5 }]],
  ['GET points?most=4&select=y&having=x.sum().gt.2&order=x.sum().desc', [{ y: 'd' }, { y: 'c' }]],
  ['POST points?select=y&distinct=on.*&order=y.desc&limit=1 {"most":4}', [{ y: 'd' }]],
  ['GET points?most=4&select=x&distinct=on.(y)&order=y,x&offset=3', [{ x: 4 }]],
  ['GET listed_clients?select=label&client_no=eq.1', [{ label: '#1' }]],
];
describe('the rows of a result', () => {
  testResponses(calls, rows);
});

const ranges: readonly [line: string, status: number, contentRange: string][] = [
  ['GET all_employees?limit=2&offset=1', 206, '1-2/5'],
  ['GET all_employees?id=gt.99', 200, '*/0'],
  ['GET all_employees', 200, '0-4/5'],
  ['GET three_numbers?limit=1', 206, '0-0/3'],
  ['GET add_them?a=1&b=2', 200, '0-0/1'],
  ['GET nothing_at_all', 200, '0-0/1'],
  ['GET with_nulls', 200, '0-1/2'],
  ['POST all_employees?limit=1 {}', 206, '0-0/5'],
];
const ofRows = ranges.filter(([line]) => line.includes('employees'));
describe.each([
  ['application/json', ranges],
  ['text/csv', ranges],
  // Values that are not XML are not available as XML.
  ['text/xml', ofRows],
] as const)('as %s', (accept, counted) => {
  test.each(counted)('%s is counted: %i %s', async (line, status, contentRange) => {
    const response = await calls.it.call(line, { ...EXACT, accept });
    expect(response.headers.get('content-range')).toBe(contentRange);
    expect(response.status).toBe(status);
  });
});

test.each([
  ['GET add_them?a=1&b=2', 'accept-profile'],
  ['POST add_them {"a":1,"b":2}', 'content-profile'],
])('%s is called in the schema of %s', async (line, header) => {
  const { body, headers } = await calls.it.call(line, { [header]: 'archive' });
  expect([body, headers.get('content-profile')]).toEqual(['"archived 3"', 'archive']);
});

test('the Range header selects rows of GET, and is ignored for POST', async () => {
  const range = { range: '1-2' };
  const got = await calls.it.call('GET three_numbers', range);
  expect([got.body, got.headers.get('content-range')]).toEqual(['[2, 3]', '1-2/*']);
  expect((await calls.it.call('POST three_numbers {}', range)).headers.get('content-range')).toBe('0-2/*');
});

test('a function that changes something runs once, also when its rows are needed twice', async () => {
  const asked = 'note_call?select=id,who,again:id&id=gt.0&order=id.desc&limit=1 {"who":"once"}';
  const { status, headers } = await calls.it.call(`POST ${asked}`, EXACT);
  expect([status, headers.get('content-range')]).toEqual([206, '0-0/2']);
  expect(await calls.it.db.query(`select count(*)::int as n from calls where who = 'once'`)).toEqual([
    { n: 2 },
  ]);
});

test('a function without a result gives an empty response', async () => {
  const { status, body, headers } = await calls.it.call('POST note_quietly {"who":"quiet"}');
  expect({ status, body, type: headers.get('content-type') }).toEqual({ status: 204, body: '', type: null });
  expect(await calls.it.db.query(`select id from calls where who = 'quiet'`)).toHaveLength(1);
});
