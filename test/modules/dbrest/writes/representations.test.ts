import { beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../../harness/gateway.ts';
import { wholeFile } from '../../../harness/owner.ts';
import { postgres } from '../../../harness/postgres.ts';
import { error, ROWS, type WriteCase } from './cases.ts';

/**
 * `code`: an integer that clients see, filter and write as `n-<number>`. `bare`: without a cast from JSON. `shouted`:
 * one of JSON itself, with a cast from JSON.
 */
const FIXTURE = `
  create domain code as int;
  create function code_json(code) returns json immutable language sql as $$ select to_json('n-' || $1) $$;
  create function code_of(text) returns code immutable language sql as $$ select substr($1, 3)::int::code $$;
  create function code_of(json) returns code immutable language sql
    as $$ select case json_typeof($1) when 'object' then ($1 ->> 'n')::int::code else code_of($1 #>> '{}') end $$;
  create cast (code as json) with function code_json(code) as implicit;
  create cast (text as code) with function code_of(text) as implicit;
  create cast (json as code) with function code_of(json) as implicit;
  create function following(c code) returns code immutable language sql as $$ select ($1 + 1)::code $$;
  create domain bare as int;
  create function bare_of(text) returns bare immutable language sql as $$ select substr($1, 3)::int::bare $$;
  create cast (text as bare) with function bare_of(text) as implicit;
  create domain shouted as jsonb;
  create function shouted_of(json) returns shouted immutable language sql as $$ select upper($1::text)::jsonb::shouted $$;
  create cast (json as shouted) with function shouted_of(json) as implicit;

  create table parts (id code primary key, size code default 7, raw bare, word shouted);
  create table uses (id int primary key, part_id code references parts);
  create view part_list as select id as no, size from parts;
  insert into parts values (1, 10, 1, null), (2, 20, 2, null);
  insert into uses values (1, 1);
  grant all on all tables in schema public to anon;
`;

const file = wholeFile();
let gw: Gateway;
beforeAll(async () => {
  const { dsn } = await postgres(FIXTURE);
  const location = `dbrest_pass ${dsn}; dbrest_anon_role anon; dbrest_tx_end rollback;`;
  gw = await startGateway(file, `server { location /api/ { ${location} } }`);
});

const CSV = { 'content-type': 'text/csv' };
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const part = (id: string, size: string | null): object => ({ id, size, raw: null, word: null });

const cases: readonly WriteCase[] = [
  {
    it: 'POST of an object',
    call: 'POST parts',
    body: { id: 'n-3', size: { n: 30 } },
    prefer: ROWS,
    expected: { status: 201, json: [part('n-3', 'n-30')] },
  },
  {
    it: 'POST of an array, with NULL',
    call: 'POST parts',
    body: [
      { id: 'n-3', size: 'n-30' },
      { id: 'n-4', size: null },
    ],
    prefer: ROWS,
    expected: { status: 201, json: [part('n-3', 'n-30'), part('n-4', null)] },
  },
  {
    it: 'POST with columns and defaults',
    call: 'POST parts?columns=id,size',
    body: [{ id: 'n-3', size: 'n-30', raw: 'ignored' }, { id: 'n-4' }],
    prefer: `${ROWS}, missing=default`,
    expected: { status: 201, json: [part('n-3', 'n-30'), part('n-4', 'n-7')] },
  },
  {
    it: 'POST through a view',
    call: 'POST part_list',
    body: { no: 'n-3', size: 'n-30' },
    prefer: ROWS,
    expected: { status: 201, json: [{ no: 'n-3', size: 'n-30' }] },
  },
  {
    it: 'POST that merges',
    call: 'POST parts',
    body: [{ id: 'n-1', size: 'n-11' }],
    prefer: `${ROWS}, resolution=merge-duplicates`,
    expected: { status: 200, json: [{ id: 'n-1', size: 'n-11', raw: 1, word: null }] },
  },
  {
    it: 'POST of CSV',
    call: 'POST parts',
    body: 'id,size\nn-3,n-30\nn-4,NULL',
    headers: CSV,
    prefer: ROWS,
    expected: { status: 201, json: [part('n-3', 'n-30'), part('n-4', null)] },
  },
  {
    it: 'POST of a form',
    call: 'POST parts',
    body: 'id=n-3&size=n-30',
    headers: FORM,
    prefer: ROWS,
    expected: { status: 201, json: [part('n-3', 'n-30')] },
  },
  {
    it: 'POST of a value for a domain over JSON',
    call: 'POST parts?select=word',
    body: { id: 'n-3', word: { a: ['b'] } },
    prefer: ROWS,
    expected: { status: 201, json: [{ word: { A: ['B'] } }] },
  },
  {
    it: 'POST with a location that leads to the row',
    call: 'POST parts',
    body: { id: 'n-3' },
    prefer: 'return=headers-only',
    expected: { status: 201, location: '/api/parts?id=eq.n-3' },
  },
  {
    it: 'PATCH',
    call: 'PATCH parts?id=eq.n-2&select=id,size',
    body: { size: 'n-21' },
    prefer: ROWS,
    expected: { status: 200, json: [{ id: 'n-2', size: 'n-21' }] },
  },
  {
    it: 'PATCH with columns',
    call: 'PATCH parts?id=eq.n-2&select=id,size&columns=size',
    body: { size: 'n-21', id: 'n-9' },
    prefer: ROWS,
    expected: { status: 200, json: [{ id: 'n-2', size: 'n-21' }] },
  },
  {
    it: 'PUT of a row that is there',
    call: 'PUT parts?id=eq.n-2&select=id,size',
    body: { id: 'n-2', size: 'n-22' },
    prefer: ROWS,
    expected: { status: 200, json: [{ id: 'n-2', size: 'n-22' }] },
  },
  {
    it: 'PUT of a new row',
    call: 'PUT parts?id=eq.n-5&select=id,size',
    body: [{ id: 'n-5', size: 'n-50' }],
    prefer: ROWS,
    expected: { status: 201, json: [{ id: 'n-5', size: 'n-50' }] },
  },
  {
    it: 'PUT of another key than in the query',
    call: 'PUT parts?id=eq.n-5',
    body: { id: 'n-6', size: 'n-50' },
    expected: {
      status: 400,
      body: error('PGRST115', 'Payload values do not match URL in primary key column(s)'),
    },
  },
  {
    it: 'POST of a foreign key, with its row',
    call: 'POST uses?select=part_id,parts(size)',
    body: { id: 2, part_id: 'n-2' },
    prefer: ROWS,
    expected: { status: 201, json: [{ part_id: 'n-2', parts: { size: 'n-20' } }] },
  },
  {
    it: 'a domain without a cast from JSON takes its own format',
    call: 'PATCH parts?raw=eq.n-2&select=raw',
    body: { raw: 5 },
    prefer: ROWS,
    expected: { status: 200, json: [{ raw: 5 }] },
  },
  {
    it: 'a value that the cast refuses',
    call: 'POST parts',
    body: { id: 'n-x' },
    expected: { status: 400, body: error('22P02', 'invalid input syntax for type integer: "x"') },
  },
];

test.each(cases)('casts of domains apply to the members of a body: $it', async (one) => {
  const { call, body, prefer, headers, expected } = one;
  await gw.expect(encodeURI(call).replace('%20', ' /api/'), expected, {
    headers: { 'content-type': 'application/json', ...headers, ...(prefer !== undefined && { prefer }) },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
});

test('the location of a row whose key has a representation leads to that row', async () => {
  const { body } = await gw.fetch('/api/parts?id=eq.n-2&select=id,size');
  expect(JSON.parse(body)).toEqual([{ id: 'n-2', size: 'n-20' }]);
});

test('a function that returns one value of such a domain shows it alone', async () => {
  expect((await gw.fetch('/api/rpc/following?c=4')).body).toBe('"n-5"');
});
