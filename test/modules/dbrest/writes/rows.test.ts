import { beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../../harness/gateway.ts';
import { wholeFile } from '../../../harness/owner.ts';
import { postgres, type TestDatabase } from '../../../harness/postgres.ts';
import { SHOP } from '../shop.ts';
import { error, ROWS, type WriteCase } from './cases.ts';

const file = wholeFile();
let db: TestDatabase;
let gw: Gateway;
beforeAll(async () => {
  db = await postgres(`${SHOP}; grant all on all tables in schema public to anon;`);
  gw = await startGateway(
    file,
    `dbrest_anon_role anon;
     server {
       location /api/ { dbrest_pass ${db.dsn}; }
       location /try/ { dbrest_pass ${db.dsn}; dbrest_tx_end rollback; }
     }`,
  );
});

const acme = { id: 1, name: 'Acme', city: 'Rome' };
const nine = { id: 9, name: 'Nine', city: null };

const cases: readonly WriteCase[] = [
  {
    it: 'POST inserts an object',
    call: 'POST clients',
    body: nine,
    expected: {
      status: 201,
      body: '',
      headers: { 'content-range': '*/*', location: null, 'content-type': null },
    },
  },
  {
    it: 'POST shows the row that it inserted',
    call: 'POST clients',
    body: { id: 9, name: 'Nine' },
    prefer: ROWS,
    expected: { status: 201, json: [nine], headers: { 'preference-applied': ROWS } },
  },
  {
    it: 'POST gives the location of the row',
    call: 'POST clients',
    body: { id: 9, name: 'Nine' },
    prefer: 'return=headers-only',
    expected: { status: 201, body: '', location: '/try/clients?id=eq.9' },
  },
  {
    it: 'POST gives the whole key of a row, encoded',
    call: 'POST users_tasks',
    body: { user_id: 3, task_id: 1 },
    prefer: 'return=headers-only',
    expected: { status: 201, location: '/try/users_tasks?user_id=eq.3&task_id=eq.1' },
  },
  {
    it: 'POST of several rows gives no location',
    call: 'POST clients',
    body: [nine, { id: 8, name: 'Eight', city: null }],
    prefer: 'return=headers-only',
    expected: { status: 201, headers: { location: null } },
  },
  {
    it: 'POST inserts an array in one statement',
    call: 'POST clients?select=id,name',
    body: [nine, { city: 'Bonn', id: 8, name: 'Eight' }],
    prefer: `${ROWS},count=exact`,
    expected: {
      status: 201,
      json: [
        { id: 9, name: 'Nine' },
        { id: 8, name: 'Eight' },
      ],
      headers: { 'content-range': '*/2', 'preference-applied': `${ROWS}, count=exact` },
    },
  },
  {
    it: 'POST of an empty array inserts nothing',
    call: 'POST clients',
    body: [],
    prefer: ROWS,
    expected: { status: 201, json: [] },
  },
  {
    it: 'POST embeds in the rows that it shows',
    call: 'POST projects?select=name,clients(name)',
    body: { id: 9, name: 'New', client_id: 1 },
    prefer: ROWS,
    expected: { status: 201, json: [{ name: 'New', clients: { name: 'Acme' } }] },
  },
  {
    it: 'POST refuses rows with different columns',
    call: 'POST clients',
    body: [nine, { id: 8, name: 'Eight' }],
    expected: { status: 400, body: /"message":"All object keys must match"/ },
  },
  {
    it: 'POST refuses a body that is not JSON',
    call: 'POST clients',
    body: '{"id": 9',
    expected: { status: 400, body: error('PGRST102', 'Empty or invalid json') },
  },
  {
    it: 'POST refuses an empty body',
    call: 'POST clients',
    body: '',
    expected: { status: 400, body: error('PGRST102', 'Empty or invalid json') },
  },
  {
    it: 'POST refuses an unknown column',
    call: 'POST clients',
    body: { id: 9, nam: 'Nine' },
    expected: {
      status: 400,
      body: error('PGRST204', `Could not find the 'nam' column of 'clients' in the schema cache`),
    },
  },
  {
    it: 'POST reports an existing key',
    call: 'POST clients',
    body: acme,
    expected: {
      status: 409,
      body: error('23505', /"duplicate key value .*"/, 'Key (id)=(1) already exists.'),
    },
  },
  {
    it: 'POST writes only the named columns',
    call: 'POST clients?columns=id,"name"',
    body: [{ id: 9, name: 'Nine', city: 'left out', other: 1 }],
    prefer: ROWS,
    expected: { status: 201, json: [nine] },
  },
  {
    it: 'an upsert merges and inserts',
    call: 'POST clients',
    body: [{ ...acme, city: 'Bari' }, nine],
    prefer: `${ROWS},resolution=merge-duplicates`,
    expected: {
      status: 201,
      json: [{ ...acme, city: 'Bari' }, nine],
      headers: { 'preference-applied': `resolution=merge-duplicates, ${ROWS}` },
    },
  },
  {
    it: 'an upsert that inserts nothing is 200',
    call: 'POST clients',
    body: { ...acme, city: 'Bari' },
    prefer: `${ROWS},resolution=merge-duplicates`,
    expected: { status: 200, json: [{ ...acme, city: 'Bari' }] },
  },
  {
    it: 'an upsert leaves existing rows unchanged',
    call: 'POST clients',
    body: [{ ...acme, city: 'Bari' }, nine],
    prefer: `${ROWS},resolution=ignore-duplicates`,
    expected: { status: 201, json: [nine] },
  },
  {
    it: 'PATCH changes the rows of its filters',
    call: 'PATCH clients?id=eq.1',
    body: { city: 'Bari' },
    expected: { status: 204, body: '', headers: { 'content-range': '0-0/*', 'content-type': null } },
  },
  {
    it: 'PATCH shows the rows that it changed',
    call: 'PATCH clients?city=eq.Oslo&select=id,city&order=id.desc',
    body: { city: 'Bergen' },
    prefer: `${ROWS},count=exact`,
    expected: {
      status: 200,
      json: [
        { id: 3, city: 'Bergen' },
        { id: 2, city: 'Bergen' },
      ],
      headers: { 'content-range': '0-1/2' },
    },
  },
  {
    it: 'PATCH of nothing changes nothing',
    call: 'PATCH clients?id=eq.1',
    body: {},
    prefer: ROWS,
    expected: { status: 200, json: [], headers: { 'content-range': '*/*' } },
  },
  {
    it: 'DELETE removes the rows of its filters',
    call: 'DELETE follows?follower_id=eq.1',
    prefer: 'count=exact',
    expected: { status: 204, body: '', headers: { 'content-range': '*/2' } },
  },
  {
    it: 'DELETE shows the rows that it removed',
    call: 'DELETE follows?follower_id=eq.2',
    prefer: ROWS,
    expected: {
      status: 200,
      json: [{ follower_id: 2, followed_id: 3 }],
      headers: { 'content-range': '*/*' },
    },
  },
];

test.each(cases)('$it', async ({ call, body, prefer, headers, expected }) => {
  const sent = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
  await gw.expect(call.replace(' ', ' /try/'), expected, {
    headers: { ...headers, ...(prefer !== undefined && { prefer }) },
    ...(sent !== undefined && { body: sent as string }),
  });
});

test('a written row is kept', async () => {
  const write = (line: string, body?: object) => gw.expect(line, {}, body && { body: JSON.stringify(body) });
  await write('POST /api/lonely', [{ id: 1 }, { id: 2 }, { id: 3 }]);
  await write('PATCH /api/lonely?id=eq.2', { id: 20 });
  await write('DELETE /api/lonely?id=eq.3');
  expect(await db.query('select id from lonely order by id')).toEqual([{ id: 1 }, { id: 20 }]);
});
