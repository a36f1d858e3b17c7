import { expect, test } from 'vitest';
import { startGateway } from '../../../harness/gateway.ts';
import { error, ROWS, testWrites, type WriteCase, writeGateway } from './cases.ts';

const gateway = writeGateway();

/** Every preference at once. */
const ALL =
  'resolution=merge-duplicates,missing=default,return=minimal,count=exact,tx=commit,handling=strict,timezone=UTC,max-affected=9,params=single-object';
const applied: readonly WriteCase[] = [
  {
    it: 'an insert',
    call: 'POST sensors',
    body: { id: 9 },
    prefer: ALL,
    expected: {
      status: 201,
      headers: {
        'preference-applied':
          'resolution=merge-duplicates, missing=default, return=minimal, count=exact, handling=strict, timezone=UTC',
      },
    },
  },
  {
    it: 'an update',
    call: 'PATCH sensors?id=eq.1',
    body: { name: 'x' },
    prefer: ALL,
    expected: {
      status: 204,
      headers: {
        'preference-applied':
          'missing=default, return=minimal, count=exact, handling=strict, timezone=UTC, max-affected=9',
      },
    },
  },
  {
    it: 'a delete',
    call: 'DELETE sensors?id=eq.99',
    prefer: ALL,
    expected: {
      status: 204,
      headers: {
        'preference-applied': 'return=minimal, count=exact, handling=strict, timezone=UTC, max-affected=9',
      },
    },
  },
  {
    it: 'a PUT',
    call: 'PUT sensors?id=eq.9',
    body: { id: 9 },
    prefer: ALL,
    expected: {
      status: 204,
      headers: { 'preference-applied': 'return=minimal, count=exact, handling=strict, timezone=UTC' },
    },
  },
  {
    it: 'a delete with max-affected and without handling=strict',
    call: 'DELETE order_items?select=line',
    prefer: `${ROWS},max-affected=1`,
    expected: { status: 200, headers: { 'preference-applied': ROWS } },
  },
];
testWrites('Preference-Applied names the preferences of', gateway, applied);

const strict: readonly WriteCase[] = [
  {
    it: 'an unknown preference is refused, before anything is written',
    call: 'POST sensors',
    body: { id: 9 },
    prefer: 'handling=strict, speed=high, return=all',
    expected: {
      status: 400,
      body: error(
        'PGRST122',
        'Invalid preferences given with handling=strict',
        'Invalid preferences: speed=high, return=all',
      ),
    },
  },
  {
    it: 'as many rows as allowed are changed',
    call: 'PATCH sensors',
    body: { name: 'x' },
    prefer: 'handling=strict,max-affected=2',
    expected: { status: 204 },
  },
  ...[ROWS, 'return=minimal'].map((shown) => ({
    it: `more rows than allowed are not changed, with ${shown}`,
    call: 'PATCH sensors',
    body: { name: 'x' },
    prefer: `handling=strict,max-affected=1,${shown}`,
    expected: {
      status: 400,
      body: error(
        'PGRST124',
        'Query result exceeds max-affected preference constraint',
        'The query affects 2 rows',
      ),
    },
  })),
  {
    it: 'rows that are not shown count',
    call: 'DELETE order_items?select=count(),orders!inner(id)',
    prefer: `handling=strict,max-affected=4,${ROWS}`,
    expected: { status: 400, body: /"The query affects 5 rows"/ },
  },
];
testWrites('with handling=strict', gateway, strict);

const OBJECT = { accept: 'application/vnd.pgrst.object+json' };
const NOT_ONE = (rows: number) =>
  error('PGRST116', 'Cannot coerce the result to a single JSON object', `The result contains ${rows} rows`);
const shapes: readonly WriteCase[] = [
  {
    it: 'is the row',
    call: 'PATCH sensors?id=eq.1',
    body: { name: 'x' },
    prefer: ROWS,
    headers: OBJECT,
    expected: {
      status: 200,
      body: '{"id":1,"name":"x"}',
      headers: { 'content-type': 'application/vnd.pgrst.object+json; charset=utf-8' },
    },
  },
  {
    it: 'refuses several rows',
    call: 'DELETE order_items',
    prefer: ROWS,
    headers: OBJECT,
    expected: { status: 406, body: NOT_ONE(5) },
  },
  {
    it: 'refuses no row',
    call: 'PATCH sensors?id=eq.99',
    body: { name: 'x' },
    prefer: ROWS,
    headers: OBJECT,
    expected: { status: 406, body: NOT_ONE(0) },
  },
  {
    it: 'refuses several rows that are not shown',
    call: 'POST sensors',
    body: [{ id: 8 }, { id: 9 }],
    headers: OBJECT,
    expected: { status: 406, body: NOT_ONE(2) },
  },
];
testWrites('a single object', gateway, shapes);

test('a write without an acceptable response is undone, and the connection stays in use', async () => {
  const { gw, db } = gateway;
  const before = await db.query('select * from order_items order by 1, 2');
  const calls: [line: string, headers: Record<string, string>][] = [
    ['DELETE /keep/order_items', { prefer: 'handling=strict,max-affected=2' }],
    ['DELETE /keep/order_items', OBJECT],
    ['DELETE /keep/order_items?select=line', { ...OBJECT, prefer: ROWS }],
    ['DELETE /keep/order_items?select=line', { accept: 'application/octet-stream', prefer: ROWS }],
    [
      'DELETE /keep/order_items?select=line,order_id&order_id=eq.2',
      { accept: 'application/octet-stream', prefer: ROWS },
    ],
  ];
  for (const [line, headers] of calls) {
    const { status } = await gw.expect(line, {}, { headers });
    expect([400, 406]).toContain(status);
  }
  expect(await db.query('select * from order_items order by 1, 2')).toEqual(before);
  await gw.expect('GET /keep/sensors?select=id&id=eq.1', { status: 200, json: [{ id: 1 }] });
});

test('a client may have its change undone where the location allows it', async (t) => {
  const { db } = gateway;
  const gw = await startGateway(
    t,
    `server { location /api/ { dbrest_pass ${db.dsn}; dbrest_anon_role web_user; dbrest_tx_end commit-allow-override; } }`,
  );
  const headers = { prefer: `${ROWS},tx=rollback` };
  await gw.expect(
    'POST /api/sensors',
    {
      status: 201,
      json: [{ id: 77, name: null }],
      headers: { 'preference-applied': `${ROWS}, tx=rollback` },
    },
    { body: '{"id":77}', headers },
  );
  await gw.expect('POST /api/pairs', { status: 409 }, { body: '{"id":77,"other":99}', headers });
  await gw.expect('GET /api/sensors?id=eq.77', { json: [] });
});
