import { expect, test } from 'vitest';
import { oneGateway } from '../../harness/gateway.ts';
import { startPeer } from '../../harness/peer.ts';
import { postgres } from '../../harness/postgres.ts';
import { redis } from '../../harness/redis.ts';

const load = oneGateway();

type Line = Readonly<Record<string, unknown>>;

/** The lines of a kind in a log, once there are so many. */
async function linesOf(
  gw: Awaited<ReturnType<typeof load>>,
  file: string,
  { kind, count }: { kind: string; count: number },
): Promise<readonly Line[]> {
  const read = () =>
    gw
      .read(file)
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Line)
      .filter((line) => line['kind'] === kind);
  await expect.poll(() => read().length).toBe(count);
  return read();
}

const FIXTURE = `create table items (id int primary key, name text);
  insert into items values (1, 'planted-value'); grant select on items to anon;`;

test('a slow statement is logged with its SQL, role, rows, phases and plan, and without any value', async (t) => {
  const { dsn } = await postgres(FIXTURE);
  const gw = await load(
    t,
    `server { request_id_header X-Id; slow_log sql.log request=0 query=0 explain=on;
       location / { dbrest_pass ${dsn}; dbrest_anon_role anon; } }`,
  );
  const path = '/items?name=eq.planted-value&select=id,name&limit=7';
  await gw.expect(`GET ${path}`, { status: 200 }, { headers: { 'X-Id': 'abc-1' } });
  const [query] = await linesOf(gw, 'sql.log', { kind: 'query', count: 1 });
  expect(query).toMatchObject({
    ms: expect.any(Number),
    request_id: 'abc-1',
    trace_id: null,
    location: '/',
    role: 'anon',
    rows: 1,
    sql: expect.stringMatching(/\bitems\b.*\$1/),
    plan: [{ Plan: { 'Node Type': expect.any(String) } }],
  });
  const [request] = await linesOf(gw, 'sql.log', { kind: 'request', count: 1 });
  const phases = { wait: expect.any(Number), parse: expect.any(Number), plan: expect.any(Number) };
  expect(request).toMatchObject({
    ...phases,
    query: expect.any(Number),
    send: expect.any(Number),
    status: 200,
  });
  await gw.expect(`GET ${path}`, { status: 200 });
  const [, second] = await linesOf(gw, 'sql.log', { kind: 'query', count: 2 });
  expect(second).not.toHaveProperty('plan');
  expect(gw.read('sql.log')).not.toContain('planted-value');
});

test('the plan of a write is asked for without writing', async (t) => {
  const { dsn, query } = await postgres(`${FIXTURE} grant insert on items to anon;`);
  const gw = await load(
    t,
    `server { slow_log write.log request=1h query=0 explain=on; location / { dbrest_pass ${dsn}; dbrest_anon_role anon; } }`,
  );
  const sent = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"id":2,"name":"b"}',
  };
  expect((await gw.fetch('/items', sent)).status).toBe(201);
  const [line] = await linesOf(gw, 'write.log', { kind: 'query', count: 1 });
  expect(line).toMatchObject({ plan: [{ Plan: { 'Node Type': expect.any(String) } }] });
  expect(await query('select count(*)::int as n from items')).toEqual([{ n: 2 }]);
});

test('a slow command of a store is logged by its name', async (t) => {
  const { port } = await redis();
  const gw = await load(
    t,
    `server { slow_log kv.log request=1h kv=0; location /k/ { kv_pass 127.0.0.1:${port}; kv_key secret-key; kv_command get; } }`,
  );
  await gw.fetch('/k/secret-key');
  const [line] = await linesOf(gw, 'kv.log', { kind: 'kv', count: 1 });
  expect(line).toMatchObject({ command: 'get', location: '/k/', ms: expect.any(Number) });
  expect(gw.read('kv.log')).not.toContain('secret-key');
});

test('slow upstreams are logged where a time for them is set', async (t) => {
  const { port } = await startPeer(t, 'peer', (_, response) => void response.end('ok'));
  const gw = await load(
    t,
    `server { location /a { slow_log up.log request=1h upstream=0; proxy_pass http://127.0.0.1:${port}; }
       location /b { slow_log up.log request=0; proxy_pass http://127.0.0.1:${port}; } }`,
  );
  for (const path of ['/a', '/b']) await gw.fetch(path);
  const [tried] = await linesOf(gw, 'up.log', { kind: 'upstream', count: 1 });
  expect(tried).toMatchObject({ location: '/a', upstream: `127.0.0.1:${port}`, status: 200 });
  const [request] = await linesOf(gw, 'up.log', { kind: 'request', count: 1 });
  expect(request).toMatchObject({ location: '/b', upstream: expect.any(Number) });
});

test('what is fast, or in a location without the log, is not logged', async (t) => {
  const gw = await load(
    t,
    `server { slow_log fast.log; location / { return 200; } location /off { slow_log off; return 200; } }`,
  );
  for (const path of ['/', '/off']) await gw.expect(`GET ${path}`, { status: 200 });
  expect(gw.read('fast.log')).toBe('');
});

test('a plan that cannot be made leaves no prepared statement in the session', async (t) => {
  const { dsn } = await postgres(`${FIXTURE}
    create function fragile(n int) returns int immutable language plpgsql as $$ begin
      if current_setting('plan_cache_mode') = 'force_generic_plan' then raise 'no plan'; end if;
      return n; end $$;
    create view fragile as select fragile(1) as n;
    create view slow_statements as select name from pg_prepared_statements where name like 'gw_slow%';
    grant select on fragile, slow_statements to anon;`);
  const gw = await load(
    t,
    `server { slow_log fragile.log request=1h query=0 explain=on;
       location / { dbrest_pass ${dsn}; dbrest_anon_role anon; dbrest_pool_size 1; dbrest_pool_reset none; } }`,
  );
  await gw.expect('GET /fragile', { status: 200, body: '[{"n":1}]' });
  const [line] = await linesOf(gw, 'fragile.log', { kind: 'query', count: 1 });
  expect(line).toMatchObject({ plan: null });
  await gw.expect('GET /slow_statements', { status: 200, body: '[]' });
});
