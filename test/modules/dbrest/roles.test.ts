import { beforeAll, expect, test } from 'vitest';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';
import { type Direct, direct, startWorker } from './direct.ts';

const FIXTURE = `
  create table notes (id int primary key, owner name, body text);
  insert into notes select i, case when i % 2 = 0 then 'anon' else 'web_user' end, 'note ' || i from generate_series(1, 20) i;
  alter table notes enable row level security;
  create policy own on notes using (owner = current_user);
  create view whoami as select
    current_user as role, pg_backend_pid() as pid,
    current_setting('search_path') as search_path,
    current_setting('transaction_read_only') as read_only,
    current_setting('statement_timeout') as timeout,
    current_setting('request.jwt') as jwt,
    current_setting('request.jwt.claims')::json as claims,
    current_setting('request.method') as method,
    current_setting('request.path') as path, current_setting('request.uri') as uri,
    current_setting('request.headers')::json as headers,
    current_setting('request.cookies')::json as cookies;
  create table closed (id int);
  create function leave_marks() returns int language plpgsql as $$ begin
    perform set_config('request.jwt', 'forged', false), set_config('search_path', 'nowhere', false);
    perform set_config('role', 'web_user', false);
    return 1;
  end $$;
  create view marks as select leave_marks() as done;
  create function write() returns int language sql as 'insert into closed values (1) returning id';
  create view writes as select write() as done;
  grant select on notes, whoami, marks, writes to anon, web_user;
  grant insert, select on closed to web_user;
`;

let db: TestDatabase;
beforeAll(async () => {
  db = await postgres(FIXTURE);
});

test('the database gets every part of the request, as the anonymous role, read-only', async (t) => {
  const api = await direct(t, db.dsn, { timeoutMs: 7_000, extraSearchPath: ['public', 'ex"tra'] });
  const headers = { authorization: 'BEARER a.b.c', host: 'h', 'x-a': '1', cookie: 'a=1; __proto__=2; b=x=y' };
  const [row] = JSON.parse((await api.get('/api/whoami?role=eq.anon', headers)).body) as [object];
  expect(row).toEqual({
    role: 'anon',
    pid: expect.any(Number) as number,
    search_path: '"public", "ex""tra"',
    read_only: 'on',
    timeout: '7s',
    jwt: 'a.b.c',
    claims: { role: 'anon' },
    method: 'GET',
    path: '/whoami',
    uri: '/api/whoami?role=eq.anon',
    headers: { authorization: 'BEARER a.b.c', host: 'h', 'x-a': '1' },
    cookies: JSON.parse('{"a":"1","__proto__":"2","b":"x=y"}') as object,
  });
});

test('row-level security shows each role its own rows', async (t) => {
  for (const anonRole of ['anon', 'web_user']) {
    const api = await direct(t, db.dsn, { anonRole });
    const rows = JSON.parse((await api.get('/api/notes')).body) as { owner: string }[];
    expect(rows).toHaveLength(10);
    expect(new Set(rows.map(({ owner }) => owner))).toEqual(new Set([anonRole]));
  }
});

test('a read cannot write, not even through a function', async (t) => {
  const api = await direct(t, db.dsn, { anonRole: 'web_user' });
  expect(await api.get('/api/writes')).toMatchObject({
    status: 405,
    headers: { 'proxy-status': 'gw; error=25006' },
  });
});

test('nothing that a function leaves in the session reaches the next request', async (t) => {
  const api = await direct(t, db.dsn, { poolSize: 1 });
  const before = await api.get('/api/whoami');
  for (let i = 0; i < 3; i += 1) await api.get('/api/marks');
  expect((await api.get('/api/whoami')).body).toBe(before.body);
});

interface Call {
  readonly api: Direct;
  readonly role: string;
  readonly token: string;
}

/** Kinds of requests; each returns a response that belongs to another request, or nothing. */
const KINDS: ((call: Call) => Promise<string | undefined>)[] = [
  async ({ api, role, token }) => {
    const { body } = await api.get('/api/whoami?select=role,jwt', { authorization: `Bearer ${token}` });
    const [row] = JSON.parse(body) as [{ role: string; jwt: string }];
    return row.role === role && row.jwt === token ? undefined : body;
  },
  async ({ api, role }) => {
    const { body } = await api.get('/api/notes?select=owner&limit=2');
    const rows = JSON.parse(body) as { owner: string }[];
    return rows.length === 2 && rows.every(({ owner }) => owner === role) ? undefined : body;
  },
  async ({ api }) => {
    const { status, body } = await api.get('/api/notes?id=eq.x');
    return status === 400 ? undefined : body;
  },
  async ({ api, role }) => {
    const { status, body } = await api.get('/api/closed');
    return status === (role === 'anon' ? 401 : 200) ? undefined : body;
  },
  async ({ api }) => {
    const { x, done } = api.start('GET /api/notes');
    setImmediate(() => x.leave());
    await done;
    return undefined;
  },
];

test(
  'no request of thousands on one connection sees the role or the token of another',
  { timeout: 120_000 },
  async (t) => {
    const worker = startWorker(t);
    const roles = ['anon', 'web_user'];
    const apis = await Promise.all(
      roles.map((anonRole) => direct(t, db.dsn, { anonRole, poolSize: 1, poolTimeoutMs: 60_000, worker })),
    );
    const pidOf = async (): Promise<string> => (await (apis[0] as Direct).get('/api/whoami?select=pid')).body;
    const pid = await pidOf();
    const foreign = new Set<string>();
    let calls = 0;
    const lane = async (): Promise<void> => {
      while (calls < 4_000) {
        const token = `t${(calls += 1)}`;
        const which = (calls * 7_919) % roles.length;
        const call = { api: apis[which] as Direct, role: roles[which] as string, token };
        const seen = await KINDS[(calls * 104_729) % KINDS.length]?.(call);
        if (seen !== undefined) foreign.add(seen);
      }
    };
    await Promise.all(Array.from({ length: 32 }, lane));
    expect([...foreign]).toEqual([]);
    expect(await pidOf()).toBe(pid);
    const busy = await db.query(
      `select state from pg_stat_activity where datname = current_database() and application_name = 'gw' and state <> 'idle'`,
    );
    expect(busy).toEqual([]);
  },
);

test('statements beyond the limit are closed on the server, and those in use stay prepared', async (t) => {
  await db.query(
    `create or replace view prepared as select count(*)::int as n from pg_prepared_statements; grant select on prepared to anon`,
  );
  const api = await direct(t, db.dsn, { poolSize: 1 });
  for (let i = 0; i < 300; i += 1) await api.get(`/api/notes?select=a${i}:id&limit=1`);
  // Statements that a batch evicts are closed with the next one.
  await api.get('/api/prepared');
  const { body } = await api.get('/api/prepared');
  expect(JSON.parse(body)).toEqual([{ n: 256 }]);
});
