import { beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../../harness/gateway.ts';
import { wholeFile } from '../../../harness/owner.ts';
import { postgres } from '../../../harness/postgres.ts';

/** Tables whose keys are equal in any case: by a collation, or by the operator of a type outside the search path. */
const TABLES = ['words', 'codes', 'names', 'nicks'];
const FIXTURE = `
  create collation any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
  create domain code as text collate any_case;
  create schema ext;
  create extension citext schema ext;
  grant usage on schema ext to anon;
  create domain nick as ext.citext;
  create table words (k text collate any_case primary key, n int, must int not null);
  create table codes (k code primary key, n int, must int not null);
  create table names (k ext.citext primary key, n int, must int not null);
  create table nicks (k nick primary key, n int, must int not null);
  create view shown_words as select * from words;
  ${TABLES.map((name) => `insert into ${name} values ('a', 0, 0), ('b', 0, 0);`).join('\n')}
  grant select, insert, update on shown_words, ${TABLES.join(', ')} to anon`;

const file = wholeFile();
let gw: Gateway;
beforeAll(async () => {
  const { dsn } = await postgres(FIXTURE);
  gw = await startGateway(
    file,
    `server { location / { dbrest_pass ${dsn}; dbrest_anon_role anon; dbrest_tx_end rollback; } }`,
  );
});

const B = { k: 'b', n: 2 };
const TWICE = { status: 400, body: /"DBREST106".*"Element 2 has the same key/ };
const writes: [request: string, body: unknown, expected: object][] = [
  [
    'PATCH',
    [{ k: 'A', n: 1 }, B],
    {
      status: 200,
      json: [
        { k: 'a', n: 1, must: 0 },
        { ...B, must: 0 },
      ],
    },
  ],
  [
    'PATCH',
    [
      { k: 'a', n: 1 },
      { k: 'A', n: 2 },
    ],
    TWICE,
  ],
  [
    'POST',
    [{ k: 'A', n: 1 }, B],
    {
      status: 200,
      json: [
        { k: 'a', n: 1, must: 0 },
        { ...B, must: 0 },
      ],
    },
  ],
  [
    'POST',
    [
      { k: 'a', n: 1 },
      { k: 'A', n: 2 },
    ],
    TWICE,
  ],
  [
    'POST',
    [
      { k: 'A', n: 1 },
      { k: 'c', n: 2 },
    ],
    { status: 400, body: /"23502"/ },
  ],
  ['PUT ?k=eq.A', { k: 'a', n: 1, must: 1 }, { status: 200, json: [{ k: 'a', n: 1, must: 1 }] }],
  ['PUT ?k=eq.C', { k: 'c', n: 1, must: 1 }, { status: 201, json: [{ k: 'c', n: 1, must: 1 }] }],
  ['PUT ?k=eq.A', { k: 'b', n: 1, must: 1 }, { status: 400, body: /"PGRST115"/ }],
];

for (const table of TABLES) {
  test.each(writes)(`%s with %j finds the rows of ${table} by what equals their keys`, async (...of) => {
    const [request, body, expected] = of;
    const [method = '', query = ''] = request.split(' ');
    const headers = { prefer: 'resolution=merge-duplicates, return=representation' };
    await gw.expect(`${method} /${table}${query}`, expected, { headers, body: JSON.stringify(body) });
  });
}

test('two elements with keys that are equal in the table of a view are refused', async () => {
  const body = JSON.stringify([
    { k: 'a', n: 1 },
    { k: 'A', n: 2 },
  ]);
  await gw.expect('PATCH /shown_words', TWICE, { body });
  expect(JSON.parse((await gw.fetch('/words?n=gt.0')).body)).toEqual([]);
});
