import { expect, test } from 'vitest';
import { sign } from '../../../harness/tokens.ts';
import { ROWS, testWrites, type WriteCase, writeGateway } from './cases.ts';

const gateway = writeGateway();
const CSV = { 'content-type': 'text/csv' };
const NAMES = [
  { id: 1, name: 'Iron Co' },
  { id: 3, name: 'Somebody' },
];
const ANN = { authorization: `Bearer ${sign({ role: 'web_user', sub: 'ann' })}` };

const changed: readonly WriteCase[] = [
  {
    it: 'changes the row with its primary key',
    call: 'PATCH suppliers?select=id,name,rating&order=id',
    body: NAMES,
    prefer: `${ROWS},count=exact`,
    expected: {
      status: 200,
      json: [
        { id: 1, name: 'Iron Co', rating: 9 },
        { id: 3, name: 'Somebody', rating: null },
      ],
      headers: { 'content-range': '0-1/2' },
    },
  },
  {
    it: 'changes it without showing rows',
    call: 'PATCH suppliers',
    body: NAMES,
    prefer: 'count=exact',
    expected: { status: 204, body: '', headers: { 'content-range': '0-1/2' } },
  },
  {
    it: 'changes it if the filters choose the row too',
    call: 'PATCH suppliers?select=id&rating=gt.5',
    body: NAMES,
    prefer: ROWS,
    expected: { status: 200, json: [{ id: 1 }] },
  },
  {
    it: 'changes it if an embedded row is there',
    call: 'PATCH suppliers?select=id,products!inner(id)&products.price=lt.15',
    body: NAMES,
    prefer: ROWS,
    expected: { status: 200, json: [{ id: 1, products: [{ id: 1 }] }] },
  },
  {
    it: 'changes nothing if no row has its key',
    call: 'PATCH suppliers?select=id',
    body: [...NAMES, { id: 99, name: 'Nowhere' }],
    prefer: `${ROWS},count=exact`,
    expected: { status: 200, json: [{ id: 1 }, { id: 3 }], headers: { 'content-range': '0-1/2' } },
  },
  {
    it: 'changes rows by the columns of on_conflict, which need not be unique',
    call: 'PATCH order_items?on_conflict=order_id&select=order_id,line,quantity&order=order_id,line',
    body: [
      { order_id: 1, quantity: 7 },
      { order_id: 2, quantity: 8 },
    ],
    prefer: ROWS,
    expected: {
      status: 200,
      json: [
        { order_id: 1, line: 1, quantity: 7 },
        { order_id: 1, line: 2, quantity: 7 },
        { order_id: 2, line: 1, quantity: 8 },
      ],
    },
  },
  {
    it: 'changes the row of a key of several columns',
    call: 'PATCH order_items?select=line,quantity',
    body: [{ line: 2, order_id: 1, quantity: 7 }],
    prefer: ROWS,
    expected: { status: 200, json: [{ line: 2, quantity: 7 }] },
  },
  {
    it: 'changes it though it is the only one',
    call: 'PATCH suppliers?rating=gt.1&select=id,name',
    body: [{ id: 2, name: 'Oak Co' }],
    prefer: ROWS,
    expected: { status: 200, json: [{ id: 2, name: 'Oak Co' }] },
  },
  {
    it: 'changes the named columns only',
    call: 'PATCH suppliers?columns=id,rating&select=id,name,rating',
    body: [{ id: 1, name: 'ignored', rating: 2 }, { id: 2 }],
    prefer: ROWS,
    expected: {
      status: 200,
      json: [
        { id: 1, name: 'Steel Co', rating: 2 },
        { id: 2, name: 'Wood Co', rating: null },
      ],
    },
  },
  {
    it: 'gives a column that it lacks its default',
    call: 'PATCH seats?columns=id,place,room,freed&select=id,place,freed&order=id',
    body: [
      { id: 1, place: 4, room: 'A', freed: '2024-05-05' },
      { id: 3, place: 5, room: 'B' },
    ],
    prefer: `${ROWS},missing=default`,
    expected: {
      status: 200,
      json: [
        { id: 1, place: 4, freed: '2024-05-05' },
        { id: 3, place: 5, freed: null },
      ],
    },
  },
  {
    it: 'may be a line of CSV',
    call: 'PATCH suppliers?select=id,name&order=id',
    body: 'name,id\nIron,1\nOak,2',
    headers: CSV,
    prefer: ROWS,
    expected: {
      status: 200,
      json: [
        { id: 1, name: 'Iron' },
        { id: 2, name: 'Oak' },
      ],
    },
  },
  {
    it: 'changes rows of a view by its key',
    call: 'PATCH sensor_list?select=no,label&order=no',
    body: [
      { no: 1, label: 'roof' },
      { no: 2, label: 'hall' },
    ],
    prefer: ROWS,
    expected: {
      status: 200,
      json: [
        { no: 1, label: 'roof' },
        { no: 2, label: 'hall' },
      ],
    },
  },
  {
    it: 'that has nothing but its key changes nothing',
    call: 'PATCH suppliers',
    body: [{ id: 1 }, { id: 2 }],
    prefer: ROWS,
    expected: { status: 200, json: [] },
  },
  {
    it: 'changes the row of its role only',
    call: 'PATCH accounts?select=id,balance',
    body: [
      { id: 1, balance: 5 },
      { id: 2, balance: 6 },
    ],
    headers: ANN,
    prefer: ROWS,
    expected: { status: 200, json: [{ id: 1, balance: 5 }] },
  },
  {
    it: 'counts for the rows that may be changed',
    call: 'PATCH suppliers',
    body: NAMES,
    prefer: 'handling=strict,max-affected=1',
    expected: { status: 400, body: /"code":"PGRST124"/ },
  },
];
testWrites('an element of a PATCH', gateway, changed);

const KEYLESS = { status: 400, body: /^\{"code":"DBREST105",.*The key is \(id\), / };
const both = [{ city: 'Bari' }, { city: 'Bonn' }];
const ONE = 'PATCH clients?id=eq.1&select=id,city';
const refused: readonly WriteCase[] = [
  { it: 'two elements without a key are refused', call: ONE, body: both, expected: KEYLESS },
  {
    it: 'elements whose key is not among the named columns are refused',
    call: `${ONE}&columns=city`,
    body: both.map((one, i) => ({ ...one, id: i })),
    expected: KEYLESS,
  },
  {
    it: 'two lines of CSV without a key are refused',
    call: ONE,
    body: 'city\nBari\nBonn',
    headers: CSV,
    expected: KEYLESS,
  },
  {
    it: 'an element without the columns of on_conflict is refused even alone',
    call: 'PATCH clients?on_conflict=name',
    body: [{ city: 'Bari' }],
    expected: { status: 400, body: /"code":"DBREST105",.*\(name\)/ },
  },
  {
    it: 'elements for a table without a key are refused',
    call: 'PATCH keyless',
    body: [{ a: 1 }, { a: 2 }],
    expected: { status: 400, body: /"code":"DBREST105",.*'keyless' has no primary key/ },
  },
  {
    it: 'two elements with one key are refused',
    call: 'PATCH suppliers',
    body: [...NAMES, { id: 1, name: 'Again' }],
    prefer: ROWS,
    expected: {
      status: 400,
      body: /"code":"DBREST106",.*"Element 3 has the same key \(id\) as one before it\."/,
    },
  },
  {
    it: 'two elements with one key are refused though no row has it',
    call: 'PATCH suppliers',
    body: [
      { id: 98, name: 'x' },
      { id: 98, name: 'y' },
    ],
    expected: { status: 400, body: /"code":"DBREST106"/ },
  },
  {
    it: 'an element with null in its key is refused',
    call: 'PATCH suppliers',
    body: [...NAMES, { id: null, name: 'None' }],
    expected: { status: 400, body: /"code":"DBREST106",.*"Element 3 has null in its key \(id\)\."/ },
  },
  {
    it: 'elements with other keys than the first are refused',
    call: 'PATCH suppliers',
    body: [{ id: 1, name: 'x' }, { id: 2 }],
    expected: { status: 400, body: /"All object keys must match"/ },
  },
  {
    it: 'a limit beside keys is refused',
    call: 'PATCH suppliers?order=id&limit=1',
    body: NAMES,
    expected: { status: 400, body: /"code":"DBREST107"/ },
  },
  {
    it: 'a missing column of on_conflict is refused',
    call: 'PATCH suppliers?on_conflict=idd',
    body: NAMES,
    expected: { status: 400, body: /"code":"42703"/ },
  },
  {
    it: 'one element without a key holds for all rows',
    call: ONE,
    body: both.slice(0, 1),
    prefer: ROWS,
    expected: { status: 200, json: [{ id: 1, city: 'Bari' }] },
  },
  {
    it: 'one line of CSV without a key holds for all rows',
    call: ONE,
    body: 'city\nBari',
    headers: CSV,
    prefer: ROWS,
    expected: { status: 200, json: [{ id: 1, city: 'Bari' }] },
  },
  {
    it: 'no elements change nothing',
    call: 'PATCH clients',
    body: [],
    prefer: ROWS,
    expected: { status: 200, json: [] },
  },
];
testWrites('of a PATCH', gateway, refused);

test('one and several elements without a key have different plans', async () => {
  const { gw } = gateway;
  const send = async (body: readonly object[]): Promise<number> =>
    (await gw.fetch('/try/clients?id=eq.1', { method: 'PATCH', body: JSON.stringify(body) })).status;
  const statuses = [];
  for (let i = 0; i < 3; i += 1) statuses.push(await send(both.slice(0, 1)), await send(both));
  expect(statuses).toEqual([204, 400, 204, 400, 204, 400]);
});

test('refused elements have changed nothing', async () => {
  const { gw, db } = gateway;
  const body = JSON.stringify([...NAMES, { id: 1, name: 'Again' }]);
  expect((await gw.fetch('/keep/suppliers', { method: 'PATCH', body })).status).toBe(400);
  expect(await db.query('select name from suppliers order by id')).toEqual([
    { name: 'Steel Co' },
    { name: 'Wood Co' },
    { name: 'Nobody' },
  ]);
});

test('5,000 elements change their rows in one statement', async () => {
  const { gw, db } = gateway;
  const body = JSON.stringify(Array.from({ length: 5_000 }, (_, i) => ({ id: i + 1, pad: `p${i + 1}` })));
  const response = await gw.fetch('/keep/numbers', {
    method: 'PATCH',
    headers: { prefer: 'count=exact' },
    body,
  });
  expect([response.status, response.headers.get('content-range')]).toEqual([204, '0-4999/5000']);
  expect(await db.query(`select count(*)::int as n from numbers where pad = 'p' || id`)).toEqual([
    { n: 5_000 },
  ]);
});
