import { error, ROWS, testWrites, type WriteCase, writeGateway } from './cases.ts';

const gateway = writeGateway();
const ids = (...list: number[]) => list.map((id) => ({ id }));

const touched: readonly WriteCase[] = [
  {
    it: 'a logic tree',
    call: 'DELETE reviews?select=stars&or=(stars.eq.5,and(stars.is.null,product_id.eq.3))&order=stars',
    prefer: ROWS,
    expected: { status: 200, json: [{ stars: 5 }, { stars: null }] },
  },
  {
    it: 'a JSON path',
    call: 'PATCH clients?select=id&notes->>vip=eq.true',
    body: { city: 'Bari' },
    prefer: ROWS,
    expected: { status: 200, json: ids(1) },
  },
  {
    it: 'a computed column',
    call: 'PATCH clients?select=id,initials&initials=eq.B',
    body: { name: 'Zinc' },
    prefer: ROWS,
    expected: { status: 200, json: [{ id: 2, initials: 'Z' }] },
  },
  {
    it: 'no row, and shows a computed column that other tables have too',
    call: 'PATCH products?id=eq.99&select=id,label',
    body: { name: 'Awl' },
    prefer: ROWS,
    expected: { status: 200, json: [] },
  },
  {
    it: 'no column, and shows a computed column that other tables have too',
    call: 'PATCH products?id=eq.1&select=id,label',
    body: {},
    prefer: ROWS,
    expected: { status: 200, json: [] },
  },
  {
    it: 'rows with an embedded row',
    call: 'DELETE order_items?select=line,products!inner(name)&products.name=eq.Hammer&order=line',
    prefer: ROWS,
    expected: {
      status: 200,
      json: [
        { line: 1, products: { name: 'Hammer' } },
        { line: 1, products: { name: 'Hammer' } },
      ],
    },
  },
  {
    it: 'rows without an embedded row',
    call: 'PATCH clients?select=id,orders(id)&orders=is.null&order=id',
    body: { city: 'Bari' },
    prefer: ROWS,
    expected: {
      status: 200,
      json: [
        { id: 3, orders: [] },
        { id: 4, orders: [] },
      ],
    },
  },
  {
    it: 'all rows without a filter',
    call: 'PATCH suppliers',
    body: { rating: 1 },
    prefer: 'count=exact',
    expected: { status: 204, headers: { 'content-range': '0-2/3' } },
  },
  {
    it: 'no rows when none is there',
    call: 'PATCH suppliers?id=eq.99',
    body: { rating: 1 },
    prefer: `${ROWS},count=exact`,
    expected: { status: 200, json: [], headers: { 'content-range': '*/0' } },
  },
];
testWrites('a change touches', gateway, touched);

const bounded: readonly WriteCase[] = [
  {
    it: 'in their order',
    call: 'DELETE numbers?select=id&order=id.desc&limit=2&part=eq.3',
    prefer: ROWS,
    expected: { status: 200, json: ids(4994, 4987) },
  },
  {
    it: 'behind an offset',
    call: 'PATCH numbers?select=id&order=id&limit=2&offset=3',
    body: { pad: '' },
    prefer: ROWS,
    expected: { status: 200, json: ids(4, 5) },
  },
  {
    it: 'of an offset alone',
    call: 'DELETE numbers?order=id&offset=4998',
    prefer: 'count=exact',
    expected: { status: 204, headers: { 'content-range': '*/2' } },
  },
  {
    it: 'down to none',
    call: 'DELETE numbers?limit=0',
    prefer: ROWS,
    expected: { status: 200, json: [] },
  },
  {
    it: 'by a key of several columns',
    call: 'DELETE order_items?select=order_id,line&order=quantity.desc&limit=1',
    prefer: ROWS,
    expected: { status: 200, json: [{ order_id: 3, line: 1 }] },
  },
  {
    it: 'where there is no key, even among rows that are alike',
    call: 'DELETE keyless?a=eq.1&limit=1',
    prefer: ROWS,
    expected: { status: 200, json: [{ a: 1, b: 'x' }] },
  },
  {
    it: 'over the parts of a table',
    call: 'DELETE measurements?select=value&order=value.desc&limit=2',
    prefer: ROWS,
    expected: { status: 200, json: [{ value: 25 }, { value: 21 }] },
  },
  {
    it: 'by an embedded column',
    call: 'PATCH orders?select=id,clients(name)&order=clients(name).desc.nullslast&limit=1',
    body: { discount: 0.75 },
    prefer: ROWS,
    expected: { status: 200, json: [{ id: 3, clients: { name: 'Bolt' } }] },
  },
  {
    it: 'of a view by its key',
    call: 'PATCH shelf_labels?select=name&order=shelf.desc&limit=1',
    body: { name: 'last' },
    prefer: ROWS,
    expected: { status: 200, json: [{ name: 'last' }] },
  },
  ...['having=count().gt.1', 'distinct=on.*', 'distinct=on.(client_id)', 'order=count()&limit=1'].map(
    (query) => ({
      it: `but not by groups: ${query}`,
      call: `PATCH orders?${query}`,
      body: { discount: 0.5 },
      expected: {
        status: 400,
        body: error(
          'PGRST127',
          'Feature not implemented',
          'Groups of rows cannot be written: "having", "distinct" and orders by aggregates are for reads.',
        ),
      },
    }),
  ),
  {
    it: 'by the number of related rows',
    call: 'PATCH clients?select=id,orders()&order=orders(count).desc,id&limit=1',
    body: { city: 'Bergen' },
    prefer: ROWS,
    expected: { status: 200, json: [{ id: 1 }] },
  },
  {
    it: 'and shown in groups',
    call: 'PATCH clients?select=city,count()&order=count().desc&id=lt.3',
    body: { city: 'Bergen' },
    prefer: ROWS,
    expected: { status: 200, json: [{ city: 'Bergen', count: 2 }] },
  },
  {
    it: 'but not where rows cannot be told apart',
    call: 'DELETE department_sizes?limit=1',
    expected: {
      status: 400,
      body: error(
        'PGRST127',
        'Feature not implemented',
        `limit and offset need a primary key to change or delete rows of 'department_sizes'.`,
      ),
    },
  },
];
testWrites('a change is bounded', gateway, bounded);

const put = { id: 9, name: 'Nine' };
const NOT_BY_KEY = error(
  'PGRST105',
  `Filters must include all and only primary key columns with 'eq' operators`,
);
const puts: readonly WriteCase[] = [
  {
    it: 'inserts the row of its key',
    call: 'PUT sensors?id=eq.9',
    body: put,
    prefer: ROWS,
    expected: { status: 201, json: [put], headers: { 'content-range': null } },
  },
  {
    it: 'replaces the row of its key',
    call: 'PUT sensors?id=eq.1',
    body: [{ id: 1, name: 'roof' }],
    prefer: ROWS,
    expected: { status: 200, json: [{ id: 1, name: 'roof' }] },
  },
  { it: 'is 204 without rows', call: 'PUT sensors?id=eq.9', body: put, expected: { status: 204, body: '' } },
  {
    it: 'is 204 with headers only',
    call: 'PUT sensors?id=eq.9',
    body: put,
    prefer: 'return=headers-only',
    expected: { status: 204, headers: { location: null } },
  },
  {
    it: 'takes a key of several columns',
    call: 'PUT order_items?order_id=eq.1&line=eq.9&select=line,quantity',
    body: { order_id: 1, line: 9, product_id: 1 },
    prefer: ROWS,
    expected: { status: 201, json: [{ line: 9, quantity: 1 }] },
  },
  {
    it: 'compares the key as its type does',
    call: 'PUT sensors?id=eq.09',
    body: put,
    expected: { status: 204 },
  },
  ...['id=eq.8', 'id=eq.9&select=id'].map((query, i) => ({
    it: `compares the key of the body with ${query}`,
    call: `PUT sensors?${query}`,
    body: i === 0 ? put : { name: 'no key' },
    expected: {
      status: 400,
      body: error('PGRST115', 'Payload values do not match URL in primary key column(s)'),
    },
  })),
  ...[
    'sensors',
    'sensors?name=eq.Nine',
    'sensors?id=gt.9',
    'sensors?id=not.eq.9',
    'sensors?id=eq(any).{9}',
    'sensors?id=eq.9&name=eq.Nine',
    'sensors?id=eq.9&id=eq.9',
    'sensors?and=(id.eq.9)',
    'order_items?order_id=eq.1',
    'keyless?a=eq.1',
  ].map((target) => ({
    it: `refuses ${target}`,
    call: `PUT ${target}`,
    body: put,
    expected: { status: 405, body: NOT_BY_KEY },
  })),
  ...['limit=1', 'offset=1'].map((query) => ({
    it: `refuses ${query}`,
    call: `PUT sensors?id=eq.9&${query}`,
    body: put,
    expected: {
      status: 400,
      body: error('PGRST114', 'limit/offset querystring parameters are not allowed for PUT'),
    },
  })),
];
testWrites('PUT', gateway, puts);
