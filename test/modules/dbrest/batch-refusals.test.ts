import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { perTier } from '../../harness/tier.ts';
import { batchesOfFile } from './batches.ts';
import { HOSTILE } from './hostile.ts';
import { bearer, sign } from '../../harness/tokens.ts';

const batches = batchesOfFile(
  'dbrest_batch_max 20; dbrest_pool_size 2; dbrest_timeout 3s;',
  `location /plain/ { $common }
   location /short { $common dbrest_batch on; }
   location /rpc/ { $common dbrest_batch on; }
   location /ends/ { $common dbrest_batch on; dbrest_tx_end commit-allow-override; }
   location /undone/ { $common dbrest_batch on; dbrest_tx_end rollback; }
   location /closed/ { $common dbrest_batch on; dbrest_jwt_invalid reject; }`,
);
const user = bearer(sign({ role: 'web_user' }));
const insert = (id: number) => ({ method: 'POST', path: '/items', body: { id, name: 'a' } });
const ids = async (): Promise<unknown> => batches.it.db.query('select id from items order by id');

beforeEach(() => batches.it.db.query('truncate items, parts, notes'));

const bodies: [it: string, body: string, status: number, error: object][] = [
  ['no JSON', '[{"path":"/items"}', 400, { code: 'PGRST102' }],
  ['an empty body', '', 400, { code: 'PGRST102' }],
  ['an object', '{"path":"/items"}', 400, { code: 'DBREST110' }],
  ['a number', '1', 400, { code: 'DBREST110' }],
  ['more items than allowed', JSON.stringify(Array(21).fill({ path: '/items' })), 413, { code: 'DBREST112' }],
  ['arrays in an array', '[[]]', 400, { code: 'DBREST111', item: 0 }],
  ['a null', '[{"path":"/items"},null]', 400, { code: 'DBREST111', item: 1 }],
  ['a text', '["/items"]', 400, { code: 'DBREST111' }],
  ['a deep nest', `[${'['.repeat(2_000)}${']'.repeat(2_000)}]`, 400, { code: 'PGRST100' }],
];

const items: [it: string, item: string, details: RegExp][] = [
  ['no path', '{}', /"path" is missing/],
  ['a path that is no text', '{"path":1}', /string/],
  ['a path twice', '{"path":"/items","path":"/notes"}', /twice/],
  ['a key in escapes', '{"p\\u0061th":"/items"}', /no members but/],
  ['an unknown member', '{"path":"/items","role":"postgres"}', /no members but/],
  ['an inherited name', '{"path":"/items","__proto__":{}}', /no members but/],
  ['a path without a slash', '{"path":"items"}', /below the location/],
  ['a whole URL', '{"path":"http://other/items"}', /below the location/],
  ['a path above the location', '{"path":"/../plain/items"}', /below the location/],
  ['an encoded path above the location', '{"path":"/%2e%2e/plain/items"}', /below the location/],
  ['a NUL in a path', '{"path":"/items%00"}', /below the location/],
  ['a fragment', '{"path":"/items?id=eq.1#x"}', /query/],
  ['a malformed escape', '{"path":"/items?id=%zz"}', /query/],
  ['a long path', JSON.stringify({ path: `/${'a'.repeat(20_000)}` }), /at most/],
  ['a batch in a batch', '{"method":"POST","path":"/rpc/batch","body":[]}', /other batch/],
  ['a batch behind dots', '{"method":"POST","path":"/x/../rpc/./batch","body":[]}', /other batch/],
  ['the root', '{"path":"/"}', /description/],
  ['OPTIONS', '{"method":"OPTIONS","path":"/items"}', /"method" is one of/],
  ['a method in lower case', '{"method":"get","path":"/items"}', /"method" is one of/],
  ['a body that a read has not', '{"path":"/items","body":{}}', /GET has no body/],
  ['headers that are a list', '{"path":"/items","headers":["a"]}', /object of strings/],
  ['a header that is no text', '{"path":"/items","headers":{"Accept":1}}', /no text/],
  ['a header with a line end', '{"path":"/items","headers":{"Accept":"a\\r\\nX: y"}}', /no text/],
  ['a header twice', '{"path":"/items","headers":{"Accept":"a","accept":"b"}}', /twice/],
  ['a token', '{"path":"/items","headers":{"Authorization":"Bearer x"}}', /no headers but/],
  ['a cookie', '{"path":"/items","headers":{"Cookie":"a=b"}}', /no headers but/],
  [
    'what only a proxy may say',
    '{"path":"/items","headers":{"X-Forwarded-For":"127.0.0.1"}}',
    /no headers but/,
  ],
  ['its own end', '{"path":"/items","headers":{"Prefer":"tx=rollback"}}', /whole batch/],
  ['a stream', '{"path":"/items","headers":{"Accept":"text/event-stream"}}', /streams/],
  [
    'CSV that is no text',
    '{"method":"POST","path":"/items","headers":{"Content-Type":"text/csv"},"body":{}}',
    /string/,
  ],
];

describe('a batch is refused, and nothing of it is done, for', () => {
  test.each(bodies)('%s', async (...[, body, status, error]) => {
    const response = await batches.it.send(body, user);
    expect([response.status, JSON.parse(response.body)]).toEqual([
      status,
      expect.objectContaining(error) as object,
    ]);
  });

  test.each(items)('an item with %s', async (...[, item, details]) => {
    const response = await batches.it.send(`[${JSON.stringify(insert(1))}, ${item} ]`, user);
    const error = { code: 'DBREST111', item: 1, details: expect.stringMatching(details) as string };
    expect([response.status, JSON.parse(response.body)]).toEqual([
      400,
      expect.objectContaining(error) as object,
    ]);
    expect(await ids()).toEqual([]);
  });

  test('another media type', async () => {
    const response = await batches.it.send('path\n/items', { ...user, 'content-type': 'text/csv' });
    expect(response.status).toBe(415);
  });

  test('a body beyond client_max_body_size', async () => {
    const response = await batches.it.send(`[${' '.repeat(2_000_000)}]`, user);
    expect([response.status, response.body]).toEqual([413, expect.stringContaining('PGRST102') as string]);
  });

  test('a token that is refused, before its body is read', async () => {
    const response = await batches.it.send('nonsense', bearer('a.b.c'), '/closed/rpc/batch');
    expect(response.status).toBe(401);
  });
});

test('other methods than POST get 405, OPTIONS the methods, and without the directive it is a function', async () => {
  const { gw } = batches.it;
  await gw.expect('GET /api/rpc/batch', { status: 405, headers: { allow: 'OPTIONS,POST' } });
  await gw.expect('OPTIONS /api/rpc/batch', { status: 200, headers: { allow: 'OPTIONS,POST' } });
  const absent = await batches.it.send([], user, '/plain/rpc/batch');
  expect([absent.status, absent.body]).toEqual([404, expect.stringContaining('PGRST202') as string]);
});

test('batches of other kinds of locations have their own paths', async () => {
  for (const [path, item] of [
    ['/short/rpc/batch', '/rpc/total'],
    ['/rpc/batch', '/total'],
  ] as const) {
    const { status, body } = await batches.it.send([{ path: item }], user, path);
    expect([status, JSON.parse(body)]).toEqual([200, [expect.objectContaining({ body: 0 })]]);
  }
});

test('the end of the transaction is chosen by the batch, where it may be', async () => {
  for (const [path, prefer, kept] of [
    ['/ends/', 'tx=rollback', 0],
    ['/undone/', 'tx=commit', 0],
    ['/api/', 'tx=rollback', 1],
    ['/ends/', 'tx=commit', 2],
  ] as const) {
    const response = await batches.it.send(
      [insert(kept), { path: '/items?select=id' }],
      { ...user, prefer },
      `${path}rpc/batch`,
    );
    expect(response.status).toBe(200);
    expect(response.headers.get('preference-applied')).toBe(path === '/ends/' ? prefer : null);
    expect(response.body).toContain(`{"id":${kept}}`);
    expect(await ids()).toHaveLength(kept);
  }
});

test('no text of an item becomes SQL', async () => {
  const { db } = batches.it;
  await db.query('truncate canary; insert into canary values (1)');
  const encode = encodeURIComponent;
  const made = HOSTILE.filter(
    (text, i) => text.length < 1_000 && i % perTier({ short: 6, long: 1 }) === 0,
  ).flatMap((text) => [
    { path: `/${encode(text)}` },
    { path: `/rpc/${encode(text)}` },
    { path: `/items?${encode(text)}=eq.1` },
    { path: `/items?name=eq.${encode(text)}` },
    { path: `/items?select=${encode(text)}` },
    { path: `/items?order=${encode(text)}` },
    { path: '/items', headers: { 'Accept-Profile': text } },
    { path: '/items', headers: { Prefer: `timezone=${text}` } },
    { path: '/items', headers: { Accept: text } },
    { method: 'POST', path: '/items', body: { [text]: text } },
    { method: 'POST', path: '/notes', body: { id: 1, text } },
  ]);
  for (const item of made) {
    const { status, body } = await batches.it.send([item, { path: '/rpc/total' }], user);
    expect([status < 500, body]).toEqual([true, expect.not.stringContaining('42601') as string]);
    // Not by "truncate": it changes the catalogue, and an unknown name then waits for the schema to be read.
    await db.query('delete from notes');
  }
  expect(await db.query('select id from canary')).toEqual([{ id: 1 }]);
});

const readers = [
  { it: 'a view', item: { path: '/noting' } },
  { it: 'a stable function', item: { path: '/rpc/note_quietly', method: 'POST', body: {} } },
];
test('beside items that write, what reads cannot write', async () => {
  const { db, send } = batches.it;
  await db.query(`
    create function note() returns int volatile security definer language sql as
      $$ insert into items values (500, 'noted') returning id $$;
    create function note_quietly() returns int stable language plpgsql as $$ begin return note(); end $$;
    create view noting as select note();
    grant select on noting to web_user;
    notify pgrst`);
  for (const { it, item } of readers) {
    const refused = async () => (await send([insert(1), item], user)).body;
    await expect.poll(refused, { message: it }).toMatch(/"code":"25006".*"item":1/);
    await db.query('truncate items, parts');
  }
  expect((await send([insert(2), { path: '/items' }, insert(3)], user)).status).toBe(200);
  expect(await ids()).toEqual([{ id: 2 }, { id: 3 }]);
});

test('a batch as a whole takes no longer than dbrest_timeout, and is undone', async () => {
  const nap = { method: 'POST', path: '/rpc/doze' };
  const { status, body } = await batches.it.send([insert(1), nap], user);
  expect([status, JSON.parse(body)]).toEqual([
    500,
    expect.objectContaining({ code: '57014', item: 1 }) as object,
  ]);
  expect(await ids()).toEqual([]);
});

test('an item may be bounded by its client, which is no error of the server', async () => {
  const nap = { method: 'POST', path: '/rpc/doze', headers: { prefer: 'timeout=0.1' } };
  const { gw } = batches.it;
  const from = gw.errorLog().length;
  const { body } = await batches.it.send([insert(1), nap], user);
  expect(JSON.parse(body)).toMatchObject({ code: '57014', item: 1 });
  await gw.waitForLog(/\[info\].* dbrest: 57014/, from);
  expect(gw.errorLog().slice(from)).not.toContain('[error]');
  expect(await ids()).toEqual([]);
});

test('a client that leaves has all of its batch cancelled', async () => {
  const keeper = new pg.Client(batches.it.db.adminDsn);
  onTestFinished(() => keeper.end());
  await keeper.connect();
  await keeper.query('begin; lock table notes');
  const leaving = new AbortController();
  const { gw, db } = batches.it;
  const asked = fetch(`${gw.url}/api/rpc/batch`, {
    method: 'POST',
    signal: leaving.signal,
    headers: { ...user, 'content-type': 'application/json' },
    body: JSON.stringify([insert(1), { path: '/notes' }]),
  });
  const waiting = `select from pg_stat_activity where datname = current_database() and application_name = 'gw' and wait_event_type = 'Lock'`;
  while ((await db.query(waiting)).length === 0) await sleep(10);
  leaving.abort();
  await expect(asked).rejects.toThrow('aborted');
  while ((await db.query(waiting)).length > 0) await sleep(10);
  await keeper.query('rollback');
  expect(await ids()).toEqual([]);
});

test('a storm of batches of different roles keeps them apart', async () => {
  const roles = ['web_user', 'editor'] as const;
  const wrong: string[] = [];
  await Promise.all(
    Array.from({ length: perTier({ short: 120, long: 1_200 }) }, async (_, n) => {
      const role = roles[n % 2] as string;
      const isBroken = n % 5 === 0;
      const note = { method: 'POST', path: '/notes', body: { id: n, text: String(n) } };
      const asked = [
        { path: '/context?select=role,call' },
        note,
        { path: '/notes?select=owner' },
        { method: 'POST', path: '/rpc/leave' },
        ...(isBroken ? [note] : []),
        { path: '/context?select=role,call,path' },
      ];
      const headers = { ...bearer(sign({ role })), 'x-call': String(n) };
      const { status, body } = await batches.it.send(asked, headers);
      if (isBroken) {
        if (status !== 409) wrong.push(body);
        return;
      }
      const [context, , notes, , last] = JSON.parse(body) as { body: object[] }[];
      const expected = [{ role, call: String(n) }];
      if (JSON.stringify(context?.body) !== JSON.stringify(expected)) wrong.push(body);
      if (notes?.body.some((row) => (row as { owner: string }).owner !== role)) wrong.push(body);
      if (JSON.stringify(last?.body) !== JSON.stringify([{ ...expected[0], path: '/context' }]))
        wrong.push(body);
    }),
  );
  expect(wrong).toEqual([]);
  const kept = await batches.it.db.query<{ id: number }>('select id from notes order by id');
  expect(kept.every(({ id }) => id % 5 !== 0)).toBe(true);
  expect(kept).toHaveLength(perTier({ short: 96, long: 960 }));
});
