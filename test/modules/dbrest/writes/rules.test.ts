import { expect, test } from 'vitest';
import { bearer, sign } from '../../../harness/tokens.ts';
import { error, ROWS, testWrites, type WriteCase, writeGateway } from './cases.ts';

const gateway = writeGateway();
const ann = bearer(sign({ role: 'web_user', sub: 'ann' }));
const anon = bearer(sign({ role: 'anon' }));

const views: readonly WriteCase[] = [
  {
    it: 'that PostgreSQL writes through by itself',
    call: 'PATCH shelf_labels?shelf=eq.1',
    body: { name: 'other' },
    prefer: ROWS,
    expected: { status: 200, json: [{ shelf: 1, name: 'other', note: 'none' }] },
  },
  {
    it: 'with a trigger that inserts',
    call: 'POST editable_clients?select=name,orders',
    body: { name: 'Fresh' },
    prefer: ROWS,
    expected: { status: 201, json: [{ name: 'Fresh', orders: null }] },
  },
  {
    it: 'with a trigger that inserts, and its location',
    call: 'POST editable_clients',
    body: { name: 'Fresh' },
    prefer: 'return=headers-only',
    expected: { status: 201, location: /^\/try\/editable_clients\?id=eq\.\d+$/ },
  },
  {
    it: 'with a trigger that updates',
    call: 'PATCH editable_clients?id=eq.1&select=name',
    body: { name: 'Changed' },
    prefer: ROWS,
    expected: { status: 200, json: [{ name: 'Changed' }] },
  },
  {
    it: 'with a trigger that deletes, in order',
    call: 'DELETE editable_clients?order=id.desc&limit=1&select=id',
    prefer: ROWS,
    expected: { status: 200, json: [{ id: 4 }] },
  },
  {
    it: 'that nothing can be written to',
    call: 'POST department_sizes',
    body: { people: 1 },
    expected: { status: 500, body: /"code":"55000".*"cannot insert into view/ },
  },
];
testWrites('a view', gateway, views);

const triggers: readonly WriteCase[] = [
  {
    it: 'set status and headers after the statement',
    call: 'POST letters',
    body: { id: 9, body: 'x' },
    expected: { status: 202, body: '', headers: { 'x-stamp': 'posted' } },
  },
  {
    it: 'set them after each row as well',
    call: 'POST letters',
    body: { id: 9, body: 'x' },
    prefer: ROWS,
    expected: { status: 202, json: [{ id: 9, body: 'x' }], headers: { 'x-stamp': 'posted' } },
  },
  {
    it: 'do not affect the next response',
    call: 'DELETE letters?id=eq.1',
    expected: { status: 204, headers: { 'x-stamp': null } },
  },
  {
    it: 'must set valid headers',
    call: 'DELETE letters?id=eq.2',
    expected: {
      status: 500,
      body: error(
        'PGRST111',
        'response.headers guc must be a JSON array composed of objects with a single key and a string value',
      ),
    },
  },
];
testWrites('triggers', gateway, triggers);

const rights: readonly WriteCase[] = [
  {
    it: 'a row of one’s own is written',
    call: 'POST messages?select=author,body',
    body: { account_id: 1, body: 'mine' },
    prefer: ROWS,
    headers: ann,
    expected: { status: 201, json: [{ author: 'ann', body: 'mine' }] },
  },
  {
    it: 'a row of another user is refused',
    call: 'POST messages',
    body: { account_id: 1, body: 'his', author: 'bob' },
    headers: ann,
    expected: {
      status: 401,
      body: error('42501', 'new row violates row-level security policy for table "messages"'),
    },
  },
  {
    it: 'rows of other users are not changed',
    call: 'PATCH messages?select=id&order=id',
    body: { body: 'changed' },
    prefer: ROWS,
    headers: ann,
    expected: { status: 200, json: [{ id: 1 }, { id: 2 }] },
  },
  {
    it: 'rows of other users are not removed',
    call: 'DELETE messages?author=eq.bob',
    prefer: 'count=exact',
    headers: ann,
    expected: { status: 204, headers: { 'content-range': '*/0' } },
  },
  {
    it: 'a role that may only read is refused with 403',
    call: 'POST sensors',
    body: { id: 9 },
    headers: anon,
    expected: { status: 403, body: error('42501', 'permission denied for table sensors') },
  },
  {
    it: 'a table that the role may not see is refused the same way',
    call: 'DELETE secrets',
    expected: {
      status: 401,
      body: error('42501', 'permission denied for table secrets'),
      headers: { 'www-authenticate': 'Bearer' },
    },
  },
  {
    it: 'a key that is still referenced is kept',
    call: 'DELETE sensors?id=eq.1',
    expected: { status: 409, body: /"code":"23503"/ },
  },
  {
    it: 'a deferred constraint fails the request',
    call: 'POST pairs',
    body: { id: 9, other: 99 },
    expected: { status: 409, body: /"code":"23503"/ },
  },
  {
    it: 'a missing table is not found',
    call: 'POST sensor',
    body: {},
    expected: {
      status: 404,
      body: /"code":"PGRST205".*"hint":"Perhaps you meant the table 'public.sensors'"/,
    },
  },
  {
    it: 'a schema that is not served is refused',
    call: 'POST sensors',
    body: {},
    headers: { 'content-profile': 'private' },
    expected: { status: 406, body: /"code":"PGRST106"/ },
  },
];
testWrites('rights and keys', gateway, rights);

test('an error at the commit fails the request', async () => {
  const { gw, db } = gateway;
  for (const prefer of ['return=minimal', ROWS, 'handling=strict,max-affected=5']) {
    const method = prefer.includes('max') ? 'PATCH' : 'POST';
    const path = method === 'POST' ? '/keep/pairs' : '/keep/pairs?id=eq.2';
    const body = JSON.stringify(method === 'POST' ? { id: 9, other: 99 } : { other: 99 });
    await gw.expect(
      `${method} ${path}`,
      { status: 409, body: /"code":"23503"/ },
      { body, headers: { prefer } },
    );
  }
  expect(await db.query('select * from pairs order by id')).toEqual([
    { id: 1, other: null },
    { id: 2, other: 1 },
  ]);
});

test('a write that returns no rows needs no privilege to read them', async () => {
  const { gw, db } = gateway;
  await db.query('revoke all on boxes from web_user; grant insert, update (note) on boxes to web_user');
  await gw.expect('POST /keep/boxes', { status: 201 }, { body: '[{"id":1},{"id":2}]' });
  await gw.expect('POST /keep/boxes', { status: 401 }, { body: '{"id":3}', headers: { prefer: ROWS } });
  await db.query('grant select (id) on boxes to web_user');
  await gw.expect(
    'POST /keep/boxes?select=id',
    { status: 201, json: [{ id: 3 }] },
    { body: '{"id":3}', headers: { prefer: ROWS } },
  );
  await gw.expect('PATCH /keep/boxes?id=eq.3', { status: 204 }, { body: '{"note":"x"}' });
  expect(await db.query('select * from boxes order by id')).toEqual([
    { id: 1, note: null },
    { id: 2, note: null },
    { id: 3, note: 'x' },
  ]);
});
