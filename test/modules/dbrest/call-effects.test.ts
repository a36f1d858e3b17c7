import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { callsOfFile } from './calls.ts';
import { bearer, sign } from '../../harness/tokens.ts';

const calls = callsOfFile('dbrest_tx_end commit-allow-override;');

const OBJECT = { accept: 'application/vnd.pgrst.object+json' };
const noted = (who: string) => calls.it.db.query('select id from calls where who = $1', [who]);

const judged: readonly [
  it: string,
  name: string,
  headers: Record<string, string>,
  code: string | undefined,
][] = [
  ['is undone when its rows are not a single object', 'note_call', OBJECT, 'PGRST116'],
  ['is undone when no row of it is left', 'note_call?id=lt.0', OBJECT, 'PGRST116'],
  ['is kept when one row of it is left', 'note_call?limit=1', OBJECT, undefined],
  [
    'is undone when it has too many rows',
    'note_call',
    { prefer: 'handling=strict, max-affected=1' },
    'PGRST124',
  ],
  [
    'is kept when it has the allowed number of rows',
    'note_call',
    { prefer: 'handling=strict, max-affected=2' },
    undefined,
  ],
  ['is kept without handling=strict', 'note_call', { prefer: 'max-affected=1' }, undefined],
  [
    'does not run when its result is a single value',
    'note_one',
    { prefer: 'handling=strict, max-affected=1' },
    'PGRST128',
  ],
  [
    'is undone when its rows end before the offset',
    'note_call?offset=5',
    { prefer: 'count=exact' },
    'PGRST103',
  ],
  [
    'is undone when its rows are not bytes',
    'note_call?select=id',
    { accept: 'application/octet-stream' },
    'PGRST107',
  ],
  ['is undone on demand', 'note_call', { prefer: 'tx=rollback' }, 'undone'],
];

for (const [it, target, headers, code] of judged) {
  test(`a call ${it}: ${target} ${JSON.stringify(headers)}`, async () => {
    const who = `judged ${it}`;
    const response = await calls.it.call(`POST ${target} ${JSON.stringify({ who })}`, headers);
    const shown = response.status < 300 ? undefined : (JSON.parse(response.body) as { code: string }).code;
    expect(shown).toBe(code === 'undone' ? undefined : code);
    expect(await noted(who)).toHaveLength(code === undefined ? 2 : 0);
    expect((await calls.it.call('GET add_them?a=1&b=1')).body).toBe('2');
  });
}

test('a function sets headers, type and status of its response', async () => {
  const headers = JSON.stringify([
    { 'X-Own': '1' },
    { 'Set-Cookie': 'a=1' },
    { 'Set-Cookie': 'b=2' },
    { 'Content-Type': 'text/x-own' },
    { 'content-range': '7-7/7' },
  ]);
  const response = await calls.it.call(`POST answers_with ${JSON.stringify({ headers, status: '202' })}`);
  expect(response.status).toBe(202);
  expect(response.headers.get('x-own')).toBe('1');
  expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
  expect(response.headers.get('content-type')).toBe('text/x-own');
  expect(response.headers.get('content-range')).toBe('7-7/7');
});

test.each(['X-Own', 'Content-Type'])(
  'a %s of a function that would split the head is dropped',
  async (name) => {
    const headers = JSON.stringify([{ [name]: 'text/x\r\nX-Forged: 1' }]);
    const response = await calls.it.call(`POST answers_with ${JSON.stringify({ headers })}`);
    expect([response.status, response.headers.get('x-forged')]).toEqual([200, null]);
    await calls.it.gw.waitForLog(new RegExp(`header "${name}" is dropped: control character in its value`));
  },
);

test('the response settings of a function end with its response', async () => {
  const headers = JSON.stringify([{ 'X-Own': '1' }]);
  await Promise.all(
    Array.from({ length: 20 }, () => calls.it.call(`POST answers_with ${JSON.stringify({ headers })}`)),
  );
  const responses = await Promise.all(
    Array.from({ length: 20 }, () => calls.it.call('GET add_them?a=1&b=2')),
  );
  expect(responses.filter((response) => response.headers.has('x-own'))).toEqual([]);
});

const once = [
  ['a text', 'text', `return 'x';`],
  ['JSON', 'json', `return '{"a":[1]}';`],
  ['nothing', 'void', ''],
  ['a row', 'table (a int, b int)', 'return query select 1, 2;'],
  ['several values', 'setof int', 'return query select 1 union all select 2;'],
] as const;

for (const [index, [what, type, body]] of once.entries()) {
  test(`a stable function that returns ${what} runs once`, async () => {
    const { db, call } = calls.it;
    const name = `counted_${index}`;
    const notify = `perform pg_notify('ran', gen_random_uuid()::text);`;
    await db.query(
      `create function ${name}(n int) returns ${type} stable language plpgsql as $$ begin ${notify} ${body} end $$`,
    );
    const listener = new pg.Client(db.adminDsn);
    await listener.connect();
    onTestFinished(() => listener.end());
    await expect
      .poll(async () => (await call(`GET ${name}?n=1`)).status < 300, { timeout: 10_000 })
      .toBe(true);
    await listener.query('listen ran');
    let runs = 0;
    listener.on('notification', () => void (runs += 1));
    for (const line of [`GET ${name}?n=1`, `POST ${name} {"n":1}`]) await call(line);
    // Notifications come before the end of the next statement.
    await listener.query('select 1');
    expect(runs).toBe(2);
  });
}

test('a function has the time limit of its own request', async () => {
  expect((await calls.it.call('POST has_time')).body).toBe('1');
  expect((await calls.it.call('POST short_of_time')).status).toBe(500);
});

test('a function runs as the role of its token', async () => {
  await calls.it.db.query(
    `create function who() returns text stable language sql as $$ select current_user::text $$`,
  );
  const headers = bearer(sign({ role: 'web_user' }));
  await expect
    .poll(async () => (await calls.it.call('GET who', headers)).body, { timeout: 10_000, interval: 200 })
    .toBe('"web_user"');
  expect((await calls.it.call('GET not_for_anon', headers)).body).toBe('1');
});

test('a function stops when its client leaves', async () => {
  const running = () =>
    calls.it.db.query(
      `select pid from pg_stat_activity where state = 'active' and query like '%"sleeps"%' and pid <> pg_backend_pid()`,
    );
  const body = '{"seconds":30}';
  const client = await calls.it.gw.connect();
  client.write(
    `POST /api/rpc/sleeps HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  await expect.poll(running, { timeout: 10_000 }).toHaveLength(1);
  client.end();
  await expect.poll(running, { timeout: 10_000 }).toHaveLength(0);
});

test('a call that violates a deferred constraint is an error, and leaves nothing', async () => {
  await calls.it.db.query(`
    create table late (id int primary key, other int references late deferrable initially deferred);
    grant all on late to anon;
    create function breaks_late() returns setof late language sql as $$ insert into late values (1, 2) returning * $$`);
  await expect
    .poll(async () => (await calls.it.call('POST breaks_late')).status, { timeout: 10_000, interval: 200 })
    .toBe(409);
  expect(await calls.it.db.query('select * from late')).toEqual([]);
});

test('a large set is sent while it is read, with the headers that the function chose', async () => {
  await calls.it.db.query(`
    create function many_rows(most int) returns table (id int, filler text) stable language plpgsql as $$ begin
      return query select i, repeat('x', 1000) from generate_series(1, most) i;
      perform set_config('response.headers', '[{"X-Own": "at the end"}]', true);
    end $$`);
  const call = () => calls.it.call('GET many_rows?most=5000&order=id.desc');
  await expect.poll(async () => (await call()).status, { timeout: 10_000, interval: 200 }).toBe(200);
  const { headers, body } = await call();
  expect(headers.get('transfer-encoding')).toBe('chunked');
  expect(headers.get('x-own')).toBe('at the end');
  expect(headers.get('content-range')).toBe('0-4999/*');
  expect((JSON.parse(body) as { id: number }[]).map(({ id }) => id)).toEqual(
    Array.from({ length: 5000 }, (_, i) => 5000 - i),
  );
});

test('the response settings of a function apply to an empty result', async () => {
  const { status, headers, body } = await calls.it.call('GET many_rows?most=0');
  expect([status, headers.get('x-own'), headers.get('content-range'), body]).toEqual([
    200,
    'at the end',
    '*/*',
    '[]',
  ]);
});
