import { beforeAll, expect, type TestContext, test } from 'vitest';
import { type EventSource, openEvents } from '../../../harness/event-source.ts';
import { type Gateway, startGateway } from '../../../harness/gateway.ts';
import { wholeFile } from '../../../harness/owner.ts';
import { postgres, type TestDatabase } from '../../../harness/postgres.ts';
import { bearer, SECRET, sign } from '../../../harness/tokens.ts';

const file = wholeFile();
let db: TestDatabase;
let gw: Gateway;
beforeAll(async () => {
  db = await postgres();
  gw = await startGateway(
    file,
    `server {
       location /api/ { dbrest_pass ${db.dsn}; dbrest_anon_role anon; dbrest_listen chat 'Odd "name" ä' news; dbrest_listen_zone bus 64; }
       location = /chat { dbrest_pass ${db.dsn}; dbrest_anon_role anon; dbrest_listen chat; }
       location = /users { dbrest_pass ${db.dsn}; dbrest_jwt_secret "${SECRET}"; dbrest_listen chat; }
       location = /bus { worker_events_api; worker_events_zone bus; worker_events_ring_size 64; worker_events_channel chat; }
     }`,
    { workers: 2 },
  );
});

const open = (t: TestContext, path: string, headers: Record<string, string> = {}): Promise<EventSource> =>
  openEvents(t, `${gw.url}${path}`, headers);
const notify = (channel: string, payload: string) => db.query('select pg_notify($1, $2)', [channel, payload]);
const told = ({ events }: EventSource) =>
  events.filter(({ data }) => data !== 'begin').map(({ event, data }) => [event, data]);

/** A stream that is known to follow: a notification has come through it. */
async function follow(t: TestContext, path: string): Promise<EventSource> {
  const stream = await open(t, path);
  await notify('chat', 'begin');
  await stream.until(1);
  stream.events.length = 0;
  return stream;
}

const payloads = [
  '',
  'x',
  'two\nlines',
  'a\r\nb\rc',
  '{"a": 1}',
  ' blank ',
  'ä'.repeat(3_999),
  'data: x\n\nevent: y',
  '€'.repeat(171),
];
test('a stream tells the notifications of its channels, whole', async (t) => {
  const streams = await Promise.all(Array.from({ length: 6 }, () => follow(t, '/chat')));
  await notify('news', 'of another channel');
  for (const payload of payloads) await notify('chat', payload);
  // Line ends are those of server-sent events.
  const expected = payloads.map((payload) => ['chat', payload.replace(/\r\n?/g, '\n')]);
  for (const stream of streams) await expect.poll(() => told(stream)).toEqual(expected);
});

test('a stream tells the channels that it asks for', async (t) => {
  const [all, some] = await Promise.all([follow(t, '/api/'), follow(t, '/api/?channel=news&channel=chat')]);
  await notify('Odd "name" ä', 'odd');
  await notify('news', 'new');
  await expect
    .poll(() => told(all))
    .toEqual([
      ['Odd "name" ä', 'odd'],
      ['news', 'new'],
    ]);
  await expect.poll(() => told(some)).toEqual([['news', 'new']]);
});

test('a client that comes back gets what it has missed, as far as the ring has it', async (t) => {
  const first = await follow(t, '/chat');
  const { lastId } = first;
  first.close();
  for (const payload of ['a', 'b', 'ä'.repeat(2_000)]) await notify('chat', payload);
  const again = await open(t, '/chat', { 'last-event-id': lastId });
  await again.until(3);
  expect(told(again).map(([, data = '']) => data.slice(0, 2))).toEqual(['a', 'b', 'ää']);
  const late = await open(t, '/api/', { 'last-event-id': '0' });
  for (let i = 0; i < 80; i += 1) await notify('chat', `${i}`);
  await late.until(80);
  const [dropped] = await open(t, '/api/', { 'last-event-id': '1' }).then(async (s) => s.until(1));
  expect([dropped?.event, dropped?.data]).toEqual(['dropped', expect.stringMatching(/^\{"dropped":\d+\}$/)]);
});

test('notifications are events of the zone, for worker_events as well', async (t) => {
  const stream = await follow(t, '/api/');
  await notify('chat', 'for all');
  await stream.until(1);
  const { events } = JSON.parse((await gw.fetch('/bus?limit=1000')).body) as {
    events: Record<string, unknown>[];
  };
  expect(events.at(-1)).toMatchObject({ channel: 'chat', type: 'notify', payload: 'for all' });
});

test('a session that listens and is lost is told of, and another one listens', async (t) => {
  const stream = await follow(t, '/chat');
  await db.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
  );
  await stream.until(1);
  expect(told(stream)).toEqual([['dropped', '{"dropped":null}']]);
  await notify('chat', 'again');
  await stream.until(2);
});

test('who may not call the location is not told', async (t) => {
  const refused = await open(t, '/users');
  expect(refused.response.statusCode).toBe(401);
  const user = await open(t, '/users', bearer(sign({ role: 'web_user' })));
  expect(user.response.statusCode).toBe(200);
});

const refusals: [path: string, headers: Record<string, string>, status: number][] = [
  ['/api/?channel=secret', {}, 400],
  ['/api/?channel=', {}, 400],
  ['/chat', { 'last-event-id': 'x' }, 400],
  ['/chat', { 'last-event-id': '-1' }, 400],
];
test('a stream that cannot be is refused', async (t) => {
  for (const [path, headers, status] of refusals) {
    const { response } = await open(t, path, headers);
    expect(response.statusCode, path).toBe(status);
  }
});

test('a reload listens to other channels, without a loss for those that stay', async (t) => {
  const own = await startGateway(
    t,
    `server { location = /chat { dbrest_pass ${db.dsn}; dbrest_anon_role anon; dbrest_listen chat; } }`,
  );
  await openEvents(t, `${own.url}/chat`);
  await own.reload(
    `server { location = /chat { dbrest_pass ${db.dsn}; dbrest_anon_role anon; dbrest_listen chat other; } }`,
  );
  const stream = await openEvents(t, `${own.url}/chat`);
  await expect
    .poll(async () => {
      await notify('other', 'x');
      return stream.events.length;
    })
    .toBeGreaterThan(0);
});
