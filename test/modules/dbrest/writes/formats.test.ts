import { expect, test } from 'vitest';
import { startGateway } from '../../../harness/gateway.ts';
import { ROWS, testWrites, type WriteCase, writeGateway } from './cases.ts';

const gateway = writeGateway();

const formats: readonly WriteCase[] = [
  {
    it: 'CSV',
    call: 'POST sensors',
    body: [
      { id: 8, name: 'a,b' },
      { id: 9, name: null },
    ],
    prefer: ROWS,
    headers: { accept: 'text/csv' },
    expected: {
      status: 201,
      body: 'id,name\n8,"a,b"\n9,',
      headers: { 'content-type': 'text/csv; charset=utf-8' },
    },
  },
  {
    it: 'XML',
    call: 'DELETE order_items?select=line,quantity&order_id=eq.2',
    prefer: ROWS,
    headers: { accept: 'text/xml' },
    expected: { status: 200, body: /<root><row><line>1<\/line><quantity>1<\/quantity><\/row><\/root>$/ },
  },
  {
    it: 'JSON without nulls',
    call: 'POST sensors',
    body: { id: 9 },
    prefer: ROWS,
    headers: { accept: 'application/vnd.dbrest.array+json;nulls=stripped' },
    expected: { status: 201, body: '[{"id":9}]' },
  },
  {
    it: 'bytes',
    call: 'PATCH files?id=eq.1&select=content',
    body: { content: '\\x68690a' },
    prefer: ROWS,
    headers: { accept: 'application/octet-stream' },
    expected: { status: 200, body: 'hi\n' },
  },
  {
    it: 'no format that cannot hold embeds',
    call: 'POST orders?select=id,clients(name)',
    body: { id: 9 },
    prefer: ROWS,
    headers: { accept: 'text/csv' },
    expected: { status: 406, body: /"code":"PGRST107"/ },
  },
  {
    it: 'the first format of a list that can hold them',
    call: 'POST sensors',
    body: { id: 9 },
    prefer: ROWS,
    headers: { accept: 'text/plain, application/json' },
    expected: { status: 201, json: [{ id: 9, name: null }] },
  },
  {
    it: 'no format at all, if they are not shown',
    call: 'PATCH sensors?id=eq.1',
    body: { name: 'x' },
    headers: { accept: 'text/plain' },
    expected: { status: 204, body: '' },
  },
  {
    it: 'a time zone',
    call: 'PATCH shelves?id=eq.1&select=made',
    body: { made: '2024-07-01 12:00:00' },
    prefer: `${ROWS},timezone=Asia/Tokyo`,
    expected: { status: 200, json: [{ made: '2024-07-01T12:00:00+09:00' }] },
  },
];
testWrites('written rows are shown in', gateway, formats);

test('a request for the plan of a write changes nothing', async (t) => {
  const { db } = gateway;
  const gw = await startGateway(
    t,
    `server { location /api/ { dbrest_pass ${db.dsn}; dbrest_anon_role web_user; dbrest_plan on; } }`,
  );
  const headers = { accept: 'application/vnd.dbrest.plan; options=analyze' };
  const calls: [line: string, body: string | undefined, plan: RegExp][] = [
    ['POST /api/sensors', '{"id":88}', /Insert on sensors/],
    ['PUT /api/sensors?id=eq.88', '{"id":88}', /Insert on sensors/],
    ['PATCH /api/sensors', '{"name":"gone"}', /Update on sensors/],
    ['DELETE /api/order_items?limit=1', undefined, /Delete on order_items/],
  ];
  for (const [line, body, plan] of calls) {
    await gw.expect(line, { status: 200, body: plan }, { headers, ...(body !== undefined && { body }) });
  }
  const sql = `select (select count(*)::int from order_items) as items, (select array_agg(name order by id) from sensors where id < 100) as names`;
  expect(await db.query(sql)).toEqual([{ items: 5, names: ['attic', 'cellar'] }]);
});
