import { beforeAll, expect, type TestContext, test } from 'vitest';
import { type EventSource, openEvents } from '../../../harness/event-source.ts';
import { type Gateway, startGateway } from '../../../harness/gateway.ts';
import { wholeFile } from '../../../harness/owner.ts';
import { postgres, type TestDatabase } from '../../../harness/postgres.ts';
import { SECRET, bearer, inSeconds, sign } from '../../../harness/tokens.ts';
import { CHAT } from './chat.ts';

const file = wholeFile();
let db: TestDatabase;
let gw: Gateway;
beforeAll(async () => {
  db = await postgres(CHAT);
  gw = await startGateway(
    file,
    `server { location /api/ {
       dbrest_pass ${db.dsn}; dbrest_anon_role anon; dbrest_jwt_secret "${SECRET}"; dbrest_jwt_invalid reject; dbrest_live on; dbrest_live_max_rows 20;
     } }`,
    { workers: 2 },
  );
});

type Told = readonly [event: string, data: unknown];

/** A stream, and its events since the last call. */
class Stream {
  readonly source: EventSource;
  #seen = 0;
  constructor(source: EventSource) {
    this.source = source;
  }
  async next(count: number): Promise<Told[]> {
    const events = await this.source.until(this.#seen + count);
    const told = events.slice(this.#seen, this.#seen + count);
    this.#seen += count;
    return told.map(({ event, data }) => [event, JSON.parse(data)]);
  }
}

async function follow(t: TestContext, path: string, headers: Record<string, string> = {}): Promise<Stream> {
  return new Stream(await openEvents(t, `${gw.url}/api/${path}`, headers));
}

const as = (sub: string) => bearer(sign({ role: 'web_user', sub }));

test('a stream begins with the rows of its request, as a read shows them', async (t) => {
  const stream = await follow(t, 'messages?select=id,text,shout,rooms(name)&order=id.desc');
  expect(stream.source.response.headers).toMatchObject({
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
  });
  expect(await stream.next(1)).toEqual([
    [
      'snapshot',
      [
        { id: 2, text: 'second', shout: 'SECOND', rooms: { name: 'two' } },
        { id: 1, text: 'first', shout: 'FIRST', rooms: { name: 'one' } },
      ],
    ],
  ]);
});

const changes: { it: string; sql: string; tells: Told[] }[] = [
  {
    it: 'an insert',
    sql: `insert into messages values (10, 1, 'ten')`,
    tells: [['insert', { key: { id: 10 }, row: { id: 10, text: 'ten' } }]],
  },
  {
    it: 'an update',
    sql: `update messages set text = 'TEN' where id = 10`,
    tells: [['update', { key: { id: 10 }, row: { id: 10, text: 'TEN' } }]],
  },
  {
    it: 'an update that lets a row in',
    sql: `insert into messages values (11, 2, 'eleven'); update messages set room = 1 where id = 11`,
    tells: [['insert', { key: { id: 11 }, row: { id: 11, text: 'eleven' } }]],
  },
  {
    it: 'an update that takes a row out',
    sql: `update messages set room = 2 where id = 11`,
    tells: [['delete', { key: { id: 11 } }]],
  },
  {
    it: 'an update of a key',
    sql: `update messages set id = 12 where id = 10`,
    tells: [
      ['insert', { key: { id: 12 }, row: { id: 12, text: 'TEN' } }],
      ['delete', { key: { id: 10 } }],
    ],
  },
  {
    it: 'a row that is hidden from the role',
    sql: `update messages set hidden = true where id = 12`,
    tells: [['delete', { key: { id: 12 } }]],
  },
  {
    it: 'many rows of one statement',
    sql: `insert into messages select i, 1, 'm' from generate_series(20, 22) i`,
    tells: [20, 21, 22].map((id) => ['insert', { key: { id }, row: { id, text: 'm' } }] as const),
  },
  {
    it: 'a delete',
    sql: `delete from messages where id = 20`,
    tells: [['delete', { key: { id: 20 } }]],
  },
];
test('a stream tells each change once, and nothing of others', async (t) => {
  const stream = await follow(t, 'messages?select=id,text&room=eq.1');
  await stream.next(1);
  for (const { it, sql, tells } of changes) {
    await db.query(sql);
    expect(await stream.next(tells.length), it).toEqual(tells);
    // Not sent: other rooms, hidden rows, other columns, changes that are rolled back or change nothing.
    await db.query(`insert into messages values (900, 2, 'other'); delete from messages where id = 900`);
    await db.query(`insert into messages values (901, 1, 'no', true); delete from messages where id = 901`);
    await db.query(`update messages set note = 'unseen' where id = 1; update messages set text = text`);
    await db.query(`begin; delete from messages; rollback`);
  }
  await db.query(`insert into messages values (99, 1, 'last')`);
  expect(await stream.next(1)).toEqual([['insert', { key: { id: 99 }, row: { id: 99, text: 'last' } }]]);
  await db.query(`delete from messages where id > 3`);
});

test('each role is told of its own rows, and of no others', async (t) => {
  const [ann, bob, nobody] = await Promise.all([
    follow(t, 'messages?select=id&order=id', as('ann')),
    follow(t, 'messages?select=id&order=id', as('bob')),
    follow(t, 'messages?select=id&order=id', as('eve')),
  ]);
  expect(await ann.next(1)).toEqual([['snapshot', [{ id: 1 }, { id: 2 }, { id: 3 }]]]);
  expect(await bob.next(1)).toEqual([['snapshot', [{ id: 1 }, { id: 3 }]]]);
  expect(await nobody.next(1)).toEqual([['snapshot', []]]);
  await db.query(`insert into messages values (40, 2, 'for ann'), (41, 1, 'for both')`);
  await db.query(`delete from messages where id in (40, 41)`);
  await db.query(`insert into messages values (42, 1, 'end')`);
  const idsOf = (told: Told[]) => new Set(told.map(([, data]) => (data as { key: { id: number } }).key.id));
  // The rows may have gone before they were read; only members get events.
  await expect.poll(() => ann.source.events.some(({ data }) => data.includes('42'))).toBe(true);
  await expect.poll(() => bob.source.events.some(({ data }) => data.includes('42'))).toBe(true);
  expect([...idsOf(await bob.next(bob.source.events.length - 1))]).not.toContain(40);
  expect(nobody.source.events).toHaveLength(1);
  await db.query(`delete from messages where id = 42`);
});

const KEYS: { it: string; table: string; sql: string; key: Record<string, unknown> }[] = [
  {
    it: 'of several columns',
    table: 'seats',
    sql: `insert into seats values ('A', 1)`,
    key: { row: 'A', number: 1 },
  },
  {
    it: 'of a partition that is written to',
    table: 'parted',
    sql: `insert into parted_1 values (7)`,
    key: { id: 7 },
  },
  {
    it: 'with quotes and line ends',
    table: 'texts',
    sql: `insert into texts values (E'a "b"\\n\\\\''c')`,
    key: { id: `a "b"\n\\'c` },
  },
  {
    it: 'that numbers of JavaScript do not hold',
    table: 'messages?hidden=is.false',
    sql: `insert into messages values (9007199254740993, 1)`,
    key: { id: 9007199254740993n },
  },
];
for (const { it, table, sql, key } of KEYS) {
  test(`rows are told by a key ${it}`, async (t) => {
    const stream = await follow(t, table);
    await stream.next(1);
    await db.query(sql);
    const [, event] = await stream.source.until(2);
    const text = JSON.stringify(key, (_, value: unknown) =>
      typeof value === 'bigint' ? `#${value}#` : value,
    ).replace(/"#|#"/g, '');
    expect(event?.event).toBe('insert');
    expect(event?.data.replaceAll('": ', '":').replaceAll(', "', ',"')).toContain(`{"key":${text},"row":`);
    await db.query(
      `delete from ${table.replace(/\?.*/, '')} where true`.replace(
        'messages where true',
        'messages where id > 3',
      ),
    );
  });
}

test('a view tells changes of the table whose key it shows, under its own names', async (t) => {
  const stream = await follow(t, 'open_messages?select=number,text&order=number');
  await stream.next(1);
  await db.query(`insert into messages values (60, 1, 'a'), (61, 2, 'b')`);
  expect(await stream.next(1)).toEqual([['insert', { key: { id: 60 }, row: { number: 60, text: 'a' } }]]);
  await db.query(`delete from messages where id in (60, 61)`);
  expect(await stream.next(1)).toEqual([['delete', { key: { id: 60 } }]]);
});

test('limit and order hold for the rows at the start alone', async (t) => {
  const whole = await follow(t, 'seats');
  await whole.next(1);
  await db.query(`insert into seats select 'B', i from generate_series(1, 5) i`);
  await whole.next(5);
  const stream = await follow(t, 'seats?select=number&row=eq.B&order=number.desc&limit=2');
  expect(await stream.next(1)).toEqual([['snapshot', [{ number: 5 }, { number: 4 }]]]);
  await db.query(
    `update seats set taken_by = 'ann', number = number + 10 where row = 'B' and number in (1, 5)`,
  );
  const told = await stream.next(3);
  expect(
    told.map(([event, data]) => `${event} ${(data as { key: { number: number } }).key.number}`).sort(),
  ).toEqual(['delete 5', 'insert 11', 'insert 15']);
  await db.query(`truncate seats`);
  expect((await stream.next(3)).map(([event]) => event)).toEqual(['delete', 'delete', 'delete']);
});

test('a statement that changes more rows than are announced is told as well', async (t) => {
  const stream = await follow(t, 'parted?id=lt.5');
  await stream.next(1);
  await db.query(
    `create table parted_2 partition of parted for values from (100) to (100000);
     insert into parted select i from generate_series(100, 11000) i; insert into parted values (1, 'x');`,
  );
  expect(await stream.next(1)).toEqual([['insert', { key: { id: 1 }, row: { id: 1, text: 'x' } }]]);
  await db.query(`delete from parted`);
});

const forged = [
  '',
  'x',
  '{}',
  '{"table":"public.messages","op":"INSERT","key":{"id":"; drop table messages"}}',
  '{"table":"public.messages","op":"INSERT","key":{"id":null}}',
  '{"table":"public.messages","op":"INSERT","key":{"other":1}}',
  '{"table":"public.messages","op":"INSERT","key":[1]}',
  '{"table":"public.messages","op":"INSERT","key":{"id":3}}',
  '{"table":"public.messages","op":"DELETE","key":{"id":1}}',
  '{"table":"public.messages","op":"DELETE","key":{"id":1}]',
  '{"table":"public.messages","op":"INSERT","key":{"id":1}},{"id":2}',
  '{"table":"nowhere","op":"INSERT","key":{"id":1}}',
];
test('what any role may announce neither tells nor hides a row', async (t) => {
  const stream = await follow(t, 'messages?select=id');
  await stream.next(1);
  for (const payload of forged) await db.query(`select pg_notify('gw_changes', $1)`, [payload]);
  await db.query(`insert into messages values (70, 1, 'real')`);
  expect(await stream.next(1)).toEqual([['insert', { key: { id: 70 }, row: { id: 70 } }]]);
  await db.query(`delete from messages where id = 70`);
  expect(await stream.next(1)).toEqual([['delete', { key: { id: 70 } }]]);
});

test('a key that a domain refuses ends no stream when it is announced', async (t) => {
  const stream = await follow(t, 'halls');
  await stream.next(1);
  await db.query(`select pg_notify('gw_changes', '{"table":"public.halls","op":"INSERT","key":{"id":-1}}')`);
  await db.query(`insert into halls values (2)`);
  expect(await stream.next(1)).toEqual([['insert', { key: { id: 2 }, row: { id: 2 } }]]);
});

const refused: {
  it: string;
  path: string;
  status: number;
  code: string;
  headers?: Record<string, string>;
}[] = [
  { it: 'a table without the triggers', path: 'rooms', status: 400, code: 'DBREST120' },
  { it: 'a view without the key', path: 'words', status: 400, code: 'DBREST120' },
  { it: 'aggregates', path: 'messages?select=count()', status: 400, code: 'DBREST121' },
  { it: 'filtered groups', path: 'messages?having=count().gt.1', status: 400, code: 'DBREST121' },
  { it: 'distinct rows', path: 'messages?select=text&distinct=on.*', status: 400, code: 'DBREST121' },
  { it: 'one row of each room', path: 'messages?distinct=on.(room)', status: 400, code: 'DBREST121' },
  { it: 'a function', path: 'rpc/all_messages', status: 400, code: 'DBREST121' },
  { it: 'the description of the location', path: '', status: 406, code: 'PGRST107' },
  { it: 'too many rows', path: 'parted', status: 400, code: 'DBREST122' },
  { it: 'a table that does not exist', path: 'nothing', status: 404, code: 'PGRST205' },
  { it: 'a column that does not exist', path: 'messages?select=nothing', status: 400, code: '42703' },
  { it: 'a value of the wrong type', path: 'messages?id=eq.x', status: 400, code: '22P02' },
  { it: 'rows that the role may not read', path: 'ledger', status: 401, code: '42501' },
  { it: 'a key that the role may not read', path: 'ledger?select=secret', status: 401, code: '42501' },
  {
    it: 'a token that is not valid',
    path: 'messages',
    status: 401,
    code: 'PGRST301',
    headers: bearer('a.b'),
  },
];
test('what cannot be followed gets an error, and no stream', async (t) => {
  await db.query(`insert into parted select i from generate_series(1, 21) i`);
  for (const { it, path, status, code, headers } of refused) {
    const { source } = await follow(t, path, headers);
    await source.ended();
    expect([source.response.statusCode, (JSON.parse(source.body) as { code: string }).code], it).toEqual([
      status,
      code,
    ]);
  }
  await db.query(`delete from parted`);
});

test('HEAD gets the head of a stream', async () => {
  const response = await gw.fetch('/api/messages', {
    method: 'HEAD',
    headers: { accept: 'text/event-stream' },
  });
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
});

test('a stream ends when its token expires, and says so', async (t) => {
  const token = sign({ role: 'web_user', sub: 'ann', exp: inSeconds(2) });
  const stream = await follow(t, 'messages', bearer(token));
  await stream.source.ended();
  expect(stream.source.events.map(({ event }) => event)).toEqual(['snapshot', 'failed']);
  expect(stream.source.events[1]?.data).toContain('JWT expired');
});

test('a right that is taken away ends the stream with the next change', async (t) => {
  const stream = await follow(t, 'messages?select=id,text', as('ann'));
  await stream.next(1);
  await db.query(`revoke select on messages from web_user; insert into messages values (80, 1, 'x')`);
  await stream.source.ended();
  expect(stream.source.events.slice(1).map(({ event }) => event)).toEqual(['failed']);
  expect(stream.source.events[1]?.data).toContain('42501');
  await db.query(`grant select on messages to web_user; delete from messages where id = 80`);
});
