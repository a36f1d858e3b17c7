import { ROWS, testWrites, type WriteCase, writeGateway } from './cases.ts';

const gateway = writeGateway();
const MERGE = `${ROWS},resolution=merge-duplicates`;
const IGNORE = `${ROWS},resolution=ignore-duplicates`;

const upserts: readonly WriteCase[] = [
  {
    it: 'by a unique constraint',
    call: 'POST products?on_conflict=name&select=id,name,price',
    body: [{ id: 1, name: 'Hammer', price: 11 }],
    prefer: MERGE,
    expected: { status: 200, json: [{ id: 1, name: 'Hammer', price: 11 }] },
  },
  {
    it: 'by several columns in any order',
    call: 'POST carts?on_conflict=product_id,name,client_id&select=quantity',
    body: { client_id: 1, name: 'main', product_id: 2, quantity: 9 },
    prefer: MERGE,
    expected: { status: 200, json: [{ quantity: 9 }] },
  },
  {
    it: 'by a partial unique index',
    call: 'POST seats?on_conflict=room,place&select=id,guest',
    body: { room: 'A', place: 1, guest: 'eve' },
    prefer: MERGE,
    expected: { status: 200, json: [{ id: 1, guest: 'eve' }] },
  },
  {
    it: 'by a partial unique index whose condition a row does not meet',
    call: 'POST seats?on_conflict=room,place&select=room,guest',
    body: { room: 'A', place: 1, guest: 'eve', freed: '2024-02-02' },
    prefer: MERGE,
    expected: { status: 201, json: [{ room: 'A', guest: 'eve' }] },
  },
  {
    it: 'that ignores duplicates by a partial unique index',
    call: 'POST seats?on_conflict=room,place&select=room,guest',
    body: [
      { room: 'A', place: 1, guest: 'eve' },
      { room: 'C', place: 1, guest: 'eve' },
    ],
    prefer: IGNORE,
    expected: { status: 201, json: [{ room: 'C', guest: 'eve' }] },
  },
  {
    it: 'that ignores duplicates and inserts nothing is 201 too',
    call: 'POST sensors',
    body: [{ id: 1, name: 'a' }],
    prefer: IGNORE,
    expected: { status: 201, json: [] },
  },
  {
    it: 'of nothing new',
    call: 'POST sensors',
    body: [
      { id: 1, name: 'a' },
      { id: 2, name: 'b' },
    ],
    prefer: MERGE,
    expected: {
      status: 200,
      json: [
        { id: 1, name: 'a' },
        { id: 2, name: 'b' },
      ],
    },
  },
  {
    it: 'is 200 without rows in the response too, when every row was there',
    call: 'POST sensors',
    body: { id: 1, name: 'a' },
    prefer: 'resolution=merge-duplicates',
    expected: { status: 200, body: '', headers: { 'preference-applied': 'resolution=merge-duplicates' } },
  },
  {
    it: 'is 201 without rows in the response, when one row is new',
    call: 'POST sensors',
    body: [
      { id: 1, name: 'a' },
      { id: 77, name: 'b' },
    ],
    prefer: 'resolution=merge-duplicates,return=minimal',
    expected: { status: 201, body: '' },
  },
  {
    it: 'of no rows is 200',
    call: 'POST sensors',
    body: [],
    prefer: 'resolution=merge-duplicates',
    expected: { status: 200, body: '' },
  },
  {
    it: 'gives the location of its row',
    call: 'POST sensors',
    body: { id: 1, name: 'a' },
    prefer: 'return=headers-only,resolution=merge-duplicates',
    expected: { status: 200, location: '/try/sensors?id=eq.1' },
  },
  {
    it: 'through a view',
    call: 'POST sensor_list',
    body: [
      { no: 1, label: 'a' },
      { no: 9, label: 'b' },
    ],
    prefer: MERGE,
    expected: {
      status: 201,
      json: [
        { no: 1, label: 'a' },
        { no: 9, label: 'b' },
      ],
    },
  },
  {
    it: 'over the parts of a table',
    call: 'POST measurements?select=value',
    body: [
      { id: 1, taken: '2023-06-01', value: 1 },
      { id: 9, taken: '2024-06-01', value: 2 },
    ],
    prefer: MERGE,
    expected: { status: 201, json: [{ value: 1 }, { value: 2 }] },
  },
  {
    it: 'of an object without members inserts defaults',
    call: 'POST seats?columns=room,place',
    body: { room: 'Z', place: 1 },
    prefer: 'resolution=ignore-duplicates',
    expected: { status: 201 },
  },
  {
    it: 'of a table without a key is an insert',
    call: 'POST keyless',
    body: { a: 1, b: 'x' },
    prefer: MERGE,
    expected: { status: 201, json: [{ a: 1, b: 'x' }], headers: { 'preference-applied': ROWS } },
  },
  {
    it: 'without a resolution is an insert',
    call: 'POST sensors?on_conflict=id',
    body: { id: 1, name: 'a' },
    expected: { status: 409, body: /"code":"23505"/ },
  },
  {
    it: 'by columns that are not a key',
    call: 'POST sensors?on_conflict=name',
    body: { id: 1, name: 'a' },
    prefer: MERGE,
    expected: { status: 400, body: /"code":"42P10"/ },
  },
  {
    it: 'by a missing column',
    call: 'POST sensors?on_conflict=nam',
    body: { id: 1, name: 'a' },
    prefer: MERGE,
    expected: { status: 400, body: /"code":"42703".*"column sensors.nam does not exist"/ },
  },
  {
    it: 'of one row twice',
    call: 'POST sensors',
    body: [
      { id: 1, name: 'a' },
      { id: 1, name: 'b' },
    ],
    prefer: MERGE,
    expected: { status: 500, body: /"code":"21000"/ },
  },
];
testWrites('an upsert', gateway, upserts);
