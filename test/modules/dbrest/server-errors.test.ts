import { beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../harness/gateway.ts';
import { wholeFile } from '../../harness/owner.ts';
import { postgres } from '../../harness/postgres.ts';
import { bearer, SECRET, sign } from '../../harness/tokens.ts';

const FIXTURE = `
  create table parents (id int primary key, name text not null check (name <> ''));
  create table children (id int primary key, parent_id int references parents, unique (parent_id) deferrable initially deferred);
  create table loops (id int primary key);
  alter table loops enable row level security;
  create policy around on loops using (exists (select from loops));
  insert into parents values (1, 'a');
  insert into children values (1, 1);
  create table closed (id int);
  create view session as select current_user as role, pg_backend_pid() as pid;
  create function slow() returns void volatile language sql set statement_timeout = '50ms' as $$ select pg_sleep(30) $$;
  create function raises(code text, message text default 'raised', detail text default '') returns void volatile language plpgsql as $$
    begin raise exception using errcode = raises.code, message = raises.message, detail = raises.detail; end $$;
  create function plain() returns void language plpgsql as $$ begin raise 'no' using hint = 'ask'; end $$;
  create function strict() returns int language plpgsql as $$ declare n int; begin select id into strict n from children where id = 0; return n; end $$;
  create function writes() returns int volatile language plpgsql as $$ begin delete from children; return 1; end $$;
  create function stuck(n int default 1) returns int immutable language sql as $$ select 1 / (n - 1) $$;
  create function deep(n int) returns int language plpgsql as $$ begin return deep(n + 1); end $$;
  create function several() returns int stable language sql as $$ select (select i from generate_series(1, 2) i) $$;
  create function zero_step() returns setof int stable language sql as $$ select generate_series(1, 2, 0) $$;
  create function no_such_table() returns int stable language plpgsql as $$ begin return (select count(*) from nowhere); end $$;
  create function no_such_function() returns int stable language plpgsql as $$ begin return nothing_like_it(1); end $$;
  create function waits() returns void volatile language plpgsql as $$ begin set local lock_timeout = 1; lock table closed nowait; end $$;
  grant select, insert, update, delete on parents, children, loops, session to anon, web_user;
`;

const file = wholeFile();
let gw: Gateway;
beforeAll(async () => {
  const db = await postgres(FIXTURE);
  gw = await startGateway(
    file,
    `dbrest_jwt_secret "${SECRET}"; dbrest_anon_role anon; dbrest_pool_size 1;
     server { location /api/ { dbrest_pass ${db.dsn}; } }`,
  );
});

const raise = (code: string, message?: string, detail?: string): string =>
  `POST rpc/raises ${JSON.stringify({ code, message, detail })}`;

/** A request, its status, and its code if the request does not have it. */
const ROWS: [request: string, status: number, code?: string][] = [
  [raise('08000'), 503],
  [raise('08P01'), 503],
  [raise('09000'), 500],
  [raise('0L000'), 403],
  [raise('0P000'), 403],
  ['POST children {"id": 2, "parent_id": 9}', 409, '23503'],
  ['POST children {"id": 2, "parent_id": 1}', 409, '23505'],
  ['POST parents {"id": 1, "name": "b"}', 409, '23505'],
  ['POST parents {"id": 2}', 400, '23502'],
  ['POST parents {"id": 2, "name": ""}', 400, '23514'],
  ['GET rpc/writes', 405, '25006'],
  [raise('21000', 'DELETE requires a WHERE clause'), 400],
  ['GET rpc/several', 500, '21000'],
  [raise('22023', 'role "x" does not exist'), 401],
  ['GET rpc/zero_step', 400, '22023'],
  [raise('25000'), 500],
  [raise('25P02'), 500],
  [raise('2D000'), 500],
  [raise('38000'), 500],
  [raise('39000'), 500],
  [raise('3B000'), 500],
  [raise('40001'), 409],
  [raise('40P01'), 409],
  [raise('28000'), 403],
  [raise('28P01'), 403],
  [raise('53400'), 500],
  [raise('53100'), 503],
  [raise('53300'), 503],
  ['POST rpc/deep {"n": 1}', 500, '54001'],
  [raise('55000'), 500],
  [raise('55P03'), 500],
  [raise('57P01'), 503],
  [raise('57P03'), 500],
  ['POST rpc/slow', 500, '57014'],
  [raise('58030'), 500],
  [raise('F0000'), 500],
  [raise('HV000'), 500],
  ['POST rpc/plain', 400, 'P0001'],
  ['POST rpc/strict', 500, 'P0002'],
  [raise('P0004'), 500],
  [raise('XX000'), 500],
  [raise('XX001'), 500],
  [raise('42883', 'function xmlagg(integer) does not exist'), 406],
  ['GET rpc/no_such_function', 404, '42883'],
  ['GET rpc/no_such_table', 404, '42P01'],
  ['GET loops', 500, '42P17'],
  ['GET closed', 401, '42501'],
  [raise('PT418'), 418],
  [raise('PTXYZ'), 500],
  [
    raise('PGRST', '{"code": "C1", "message": "m"}', '{"status": 402, "headers": {"X-Why": "because"}}'),
    402,
    'C1',
  ],
  [raise('PGRST', 'no JSON'), 500, 'PGRST121'],
  ['GET rpc/stuck', 400, '22012'],
  ['GET parents?id=eq.x', 400, '22P02'],
  [raise('26000'), 400],
  [raise('0A000'), 400],
  [raise('ABCDE'), 400],
];

const session = async (): Promise<unknown> =>
  JSON.parse((await gw.expect('GET /api/session', { status: 200 })).body) as unknown;
/** Codes with which the server ends a session: the gateway does not use it again. */
const ENDING = /^(08|57P0[1-3]|26000)/;

test.each(ROWS)('%s → %i, and the session stays in order', async (request, status, given) => {
  const [, method = '', path = '', body] = /^(\S+) (\S+)(?: (.*))?$/.exec(request) ?? [];
  const code = given ?? (JSON.parse(body ?? '') as { code: string }).code;
  const before = await session();
  const headers = { 'content-type': 'application/json' };
  const response = await gw.fetch(`/api/${path}`, { method, headers, ...(body !== undefined && { body }) });
  expect([response.status, JSON.parse(response.body)]).toMatchObject([status, { code }]);
  expect(Object.keys(JSON.parse(response.body) as object)).toEqual(['code', 'details', 'hint', 'message']);
  expect(response.headers.get('proxy-status')).toBe(`gw; error=${code}`);
  expect(response.headers.get('www-authenticate')).toBe(status === 401 ? 'Bearer' : null);
  const after = await session();
  if (ENDING.test(code)) expect(after).toMatchObject([{ role: 'anon' }]);
  else expect(after).toEqual(before);
});

test('a missing privilege gives 401 to the anonymous role and 403 to any other', async () => {
  const user = { headers: bearer(sign({ role: 'web_user' })) };
  await gw.expect('GET /api/closed', { status: 403, headers: { 'www-authenticate': null } }, user);
  await gw.expect('GET /api/closed', { status: 401, headers: { 'www-authenticate': 'Bearer' } });
  const nobody = { headers: bearer(sign({ role: 'nobody' })) };
  await gw.expect(
    'GET /api/session',
    { status: 401, body: /22023.*role \\"nobody\\" does not exist/ },
    nobody,
  );
});
