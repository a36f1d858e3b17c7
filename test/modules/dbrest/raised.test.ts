import { beforeAll, expect, test } from 'vitest';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';
import { sharedDirect } from './direct.ts';

const FIXTURE = `
  create table raises (name text primary key, message text, detail text);
  create function raise_it(m text, d text) returns int language plpgsql as $$ begin
    if d is null then raise sqlstate 'PGRST' using message = m; end if;
    raise sqlstate 'PGRST' using message = m, detail = d;
  end $$;
  create view raised as select name, raise_it(message, detail) as done from raises;
  insert into raises values
    ('full', '{"code":"X1","message":"no","details":"d","hint":"h"}', '{"status":418,"status_text":"Teapot","headers":{"X-Why":"tea"}}'),
    ('short', '{"code":"X1","message":"no"}', '{"status":402,"headers":{}}'),
    ('bad message', 'no', '{"status":402,"headers":{}}'),
    ('no code', '{"message":"no"}', '{"status":402,"headers":{}}'),
    ('bad detail', '{"code":"X1","message":"no"}', 'x'),
    ('no headers', '{"code":"X1","message":"no"}', '{"status":402}'),
    ('bad status', '{"code":"X1","message":"no"}', '{"status":99,"headers":{}}'),
    ('bad header', '{"code":"X1","message":"no"}', '{"status":402,"headers":{"a":1}}'),
    ('no detail', '{"code":"X1","message":"no"}', null);
  grant select on raises, raised to anon;
`;

let db: TestDatabase;
beforeAll(async () => {
  db = await postgres(FIXTURE);
});

const M = `Could not parse JSON in the "RAISE SQLSTATE 'PGRST'" error`;
const cases: [name: string, status: number, code: string, message: string, details: string | null][] = [
  ['full', 418, 'X1', 'no', 'd'],
  ['short', 402, 'X1', 'no', null],
  ['bad message', 500, 'PGRST121', M, "Invalid JSON value for MESSAGE: 'no'"],
  ['no code', 500, 'PGRST121', M, `Invalid JSON value for MESSAGE: '{"message":"no"}'`],
  ['bad detail', 500, 'PGRST121', M, "Invalid JSON value for DETAIL: 'x'"],
  ['no headers', 500, 'PGRST121', M, `Invalid JSON value for DETAIL: '{"status":402}'`],
  ['bad status', 500, 'PGRST121', M, `Invalid JSON value for DETAIL: '{"status":99,"headers":{}}'`],
  ['bad header', 500, 'PGRST121', M, `Invalid JSON value for DETAIL: '{"status":402,"headers":{"a":1}}'`],
  ['no detail', 500, 'PGRST121', M, 'DETAIL is missing in the RAISE statement'],
];
const compiled = sharedDirect();

test.each(cases)('PGRST that is raised with %s gives the response that it describes', async (...expected) => {
  const [name, status, code, message, details] = expected;
  const api = await compiled(db.dsn);
  const { x, done } = api.start(`GET /api/raised?name=eq.${encodeURIComponent(name)}`);
  await done;
  const { body = '', headers } = x.sent ?? {};
  expect([x.sent?.status, JSON.parse(body)]).toMatchObject([status, { code, message, details }]);
  expect([headers?.['x-why'], x.x.response.reason]).toEqual(
    name === 'full' ? ['tea', 'Teapot'] : [undefined, undefined],
  );
});
