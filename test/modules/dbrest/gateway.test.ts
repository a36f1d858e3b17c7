import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { beforeAll, expect, test } from 'vitest';
import { oneGateway, startGateway } from '../../harness/gateway.ts';
import { freePort } from '../../harness/ports.ts';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';
import { bearer, SECRET, sign } from '../../harness/tokens.ts';

const load = oneGateway();

const FIXTURE = `
  create table todos (id int primary key, task text, done boolean);
  insert into todos values (1, 'write', true), (2, 'test', false), (3, 'ship', null);
  create view whoami as select current_user as role, pg_backend_pid() as pid;
  create view gate as select 1 as n from (select pg_advisory_xact_lock_shared(1)) l;
  create view large as select i as id, repeat('x', 1000) as text from generate_series(1, 2000) i;
  create schema hooks;
  create function hooks."Look ""here""!"() returns void language sql as $$
    select set_config('response.headers', json_build_array(json_build_object('X-Greeting', current_setting('app.settings.greeting')))::text, true) $$;
  grant usage on schema hooks to anon;
  grant select on todos, whoami, gate, large to anon, web_user;
`;

let db: TestDatabase;
let keywords: string;
beforeAll(async () => {
  db = await postgres(FIXTURE);
  keywords = `host=${db.host} port=${db.port} dbname=${db.database} user=authenticator`;
});

test('every way to name the database reads the same table', async (t) => {
  const gw = await startGateway(
    t,
    `dbrest_anon_role anon;
     server {
       location /uri/ { dbrest_pass ${db.dsn}; }
       location /quoted/ { dbrest_pass "${keywords}"; }
       location /words/ { dbrest_pass ${keywords}; }
       location /socket/ { dbrest_pass "host='${db.socketDir}' port=${db.port} dbname=${db.database} user=authenticator"; }
       location /hosts/ { dbrest_pass "host=127.0.0.1,${db.host} port=${await freePort()},${db.port} dbname=${db.database} user=authenticator"; }
       location /env { dbrest_pass \${env:DSN}; }
       location = /one/todos { dbrest_pass ${db.dsn}; }
       location ~ ^/any/ { dbrest_pass ${db.dsn}; }
     }`,
    { env: { DSN: db.dsn } },
  );
  for (const prefix of ['uri', 'quoted', 'words', 'socket', 'hosts', 'env', 'one', 'any']) {
    await gw.expect(`GET /${prefix}/todos?select=id,task&done=is.true`, {
      status: 200,
      body: '[{"id":1,"task":"write"}]',
      headers: {
        'content-type': 'application/json; charset=utf-8',
        'content-range': '0-0/*',
        'range-unit': 'items',
      },
    });
  }
});

test('an error has the four keys, its status and its headers', async (t) => {
  const gw = await load(
    t,
    `server {
       location /api/ { dbrest_pass ${db.dsn}; dbrest_anon_role anon; }
       location /closed/ { dbrest_pass ${db.dsn}; dbrest_jwt_secret "${SECRET}"; }
     }`,
  );
  await gw.expect('GET /api/nope', {
    status: 404,
    json: {
      code: 'PGRST205',
      details: null,
      hint: null,
      message: "Could not find the table 'public.nope' in the schema cache",
    },
    headers: { 'proxy-status': 'gw; error=PGRST205', 'content-type': 'application/json; charset=utf-8' },
  });
  await gw.expect('GET /closed/todos', { status: 401, headers: { 'www-authenticate': 'Bearer' } });
  const head = await gw.expect('HEAD /api/todos?select=id', { status: 200, body: '' });
  expect(head.headers.get('content-length')).toBeNull();
});

test('a response of two megabytes arrives whole', async (t) => {
  const gw = await load(t, `server { location /api/ { dbrest_pass ${db.dsn}; dbrest_anon_role anon; } }`);
  const { body } = await gw.fetch('/api/large?order=id');
  const rows = JSON.parse(body) as { id: number; text: string }[];
  expect(rows.map(({ id }) => id)).toEqual(Array.from({ length: 2000 }, (_, i) => i + 1));
});

test('locations with one database share one pool, each with its own role', async (t) => {
  const gw = await startGateway(
    t,
    `dbrest_pool_size 1;
     server {
       location /a/ { dbrest_pass ${db.dsn}; dbrest_anon_role anon; }
       location /b/ { dbrest_pass ${db.dsn}; dbrest_anon_role web_user; }
     }`,
  );
  const rows = await Promise.all(
    Array.from({ length: 200 }, async (_, i) => {
      const prefix = i % 3 === 0 ? 'a' : 'b';
      const [row] = JSON.parse((await gw.fetch(`/${prefix}/whoami`)).body) as [{ role: string; pid: number }];
      expect(row.role).toBe(prefix === 'a' ? 'anon' : 'web_user');
      return row.pid;
    }),
  );
  expect(new Set(rows).size).toBe(1);
});

test('a reload keeps the connections, and new settings hold at once', async (t) => {
  const conf = (role: string) =>
    `server { location /api/ { dbrest_pass ${db.dsn}; dbrest_pool_size 1; dbrest_anon_role ${role}; } }`;
  const gw = await startGateway(t, conf('anon'));
  const before = JSON.parse((await gw.fetch('/api/whoami')).body) as [{ pid: number }];
  expect(await gw.reload(conf('web_user'))).toBe('done');
  await gw.expect('GET /api/whoami', { json: [{ role: 'web_user', pid: before[0].pid }] });
});

test('a client that hangs up has its query cancelled', async (t) => {
  const keeper = new pg.Client(db.adminDsn);
  await keeper.connect();
  t.onTestFinished(() => keeper.end());
  await keeper.query('select pg_advisory_lock(1)');
  const waiting = async (count: number): Promise<void> => {
    const sql = `select from pg_stat_activity where datname = current_database() and wait_event = 'advisory'`;
    while ((await keeper.query(sql)).rowCount !== count) await sleep(5);
  };
  const gw = await load(
    t,
    `server { location /api/ { dbrest_pass ${db.dsn}; dbrest_pool_size 1; dbrest_anon_role anon; } }`,
  );
  const hanging = new AbortController();
  const request = fetch(`${gw.url}/api/gate`, { signal: hanging.signal }).catch(() => undefined);
  await waiting(1);
  hanging.abort();
  await request;
  await waiting(0);
  await gw.expect('GET /api/todos?select=id&id=eq.1', { status: 200, body: '[{"id":1}]' });
});

test('the gateway starts without its database and serves everything else', async (t) => {
  const gw = await startGateway(
    t,
    `server {
       location / { return 200 ok; }
       location /api/ { dbrest_pass "host=127.0.0.1 port=${await freePort()}"; dbrest_anon_role anon; }
       location /unresolved/ { dbrest_pass "host=no.such.host.invalid"; dbrest_anon_role anon; }
     }`,
  );
  await gw.expect('GET /', { status: 200, body: 'ok' });
  for (const path of ['/api/todos', '/unresolved/todos']) {
    await gw.expect(`GET ${path}`, {
      status: 503,
      headers: { 'retry-after': '1', 'proxy-status': 'gw; error=PGRST000' },
    });
  }
});

test('the embedded database serves', async (t) => {
  const gw = await load(
    t,
    `server { location /api/ { dbrest_pass embedded:pg; dbrest_anon_role pg_monitor; } }`,
  );
  await gw.expect('GET /api/nope', { status: 404, headers: { 'proxy-status': 'gw; error=PGRST205' } });
});

test('a token picks the role, through the gateway', async (t) => {
  const gw = await load(
    t,
    `dbrest_jwt_secret \${file:jwt.key};
     server {
       location /api/ { dbrest_pass ${db.dsn}; dbrest_anon_role anon; dbrest_jwt_role_claim .app.roles[0]; }
       location /strict/ { dbrest_pass ${db.dsn}; dbrest_anon_role anon; dbrest_jwt_invalid reject; }
     }`,
    { 'jwt.key': `${SECRET}\n` },
  );
  const token = sign({ app: { roles: ['web_user'] } });
  const as = async (path: string, headers?: Record<string, string>) => {
    const { status, body } = await gw.fetch(path, headers && { headers });
    return status === 200 ? (JSON.parse(body) as [{ role: string }])[0].role : status;
  };
  expect(await as('/api/whoami', bearer(token))).toBe('web_user');
  expect(await as('/api/whoami', bearer(`${token}x`))).toBe('anon');
  expect(await as('/strict/whoami', bearer(`${token}x`))).toBe(401);
  const twice = `GET /api/whoami HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nAuthorization: Bearer x\r\nConnection: close\r\n\r\n`;
  expect(await gw.raw(twice)).toMatch(/^HTTP\/1.1 400 /);
});

test('formats, counts and ranges go through the gateway', async (t) => {
  const gw = await load(
    t,
    `server { location /api/ { dbrest_pass ${db.dsn}; dbrest_anon_role anon; dbrest_server_timing on; } }`,
  );
  const headers = { accept: 'text/csv', prefer: 'count=exact', range: '1-1' };
  await gw.expect(
    'GET /api/todos',
    {
      status: 206,
      body: 'id,task,done\n2,test,f',
      headers: {
        'content-type': 'text/csv; charset=utf-8',
        'content-range': '1-1/3',
        'preference-applied': 'count=exact',
      },
    },
    { headers },
  );
  const { headers: head } = await gw.fetch('/api/large?select=id', {
    method: 'HEAD',
    headers: { prefer: 'count=exact' },
  });
  expect(head.get('content-range')).toBe('0-1999/2000');
  expect(head.get('server-timing')).toMatch(/^jwt;dur=/);
});

test('settings and the function in front of a request come from the configuration', async (t) => {
  const gw = await load(
    t,
    `dbrest_setting greeting hello;
     dbrest_tx_end rollback-allow-override;
     server {
       location /api/ {
         dbrest_pass ${db.dsn};
         dbrest_anon_role anon;
         dbrest_plan on;
         dbrest_pre_request 'hooks."Look ""here""!"';
       }
     }`,
  );
  await gw.expect('GET /api/todos?select=id&id=eq.1', {
    status: 200,
    body: '[{"id":1}]',
    headers: { 'x-greeting': 'hello' },
  });
  const plan = await gw.fetch('/api/todos', {
    headers: { accept: 'application/vnd.dbrest.plan', prefer: 'tx=commit' },
  });
  expect(plan.body).toContain('Scan');
  expect(plan.headers.get('preference-applied')).toBe('tx=commit');
});
