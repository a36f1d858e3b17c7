import { beforeAll, expect, test } from 'vitest';
import { startCollector } from '../../harness/collector.ts';
import { oneGateway } from '../../harness/gateway.ts';
import { ownPostgres } from '../../harness/own-postgres.ts';
import { wholeFile } from '../../harness/owner.ts';
import { pgbouncer } from '../../harness/pgbouncer.ts';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';

const FIXTURE = `
  create table items (id int primary key, word text);
  insert into items select i, 'item ' || i from generate_series(1, 3) i;
  create view running as select current_query() as text,
    (select count(*)::int from pg_prepared_statements where statement ~ 'running') as prepared;
  grant all on items, running to anon;
`;
const COMMENTS = 'dbrest_anon_role anon; dbrest_batch on; dbrest_request_comment comment;';

const load = oneGateway();
const file = wholeFile();
let db: TestDatabase;
let pooled: string;

beforeAll(async () => {
  db = await postgres(FIXTURE);
  pooled = (await pgbouncer(file, db, { mode: 'transaction' })).dsn;
});

interface Running {
  readonly text: string;
  readonly prepared: number;
}

test.each(['straight', 'through a pooler that lends sessions for transactions'])(
  'the statements of a request begin with its id, and are not prepared: %s',
  async (way) => {
    const gw = await load(
      file,
      `server { location / { add_header X-Id $request_id; dbrest_pass ${way === 'straight' ? db.dsn : pooled}; ${COMMENTS} } }`,
    );
    for (let i = 0; i < 4; i++) {
      const { body, headers } = await gw.fetch('/running');
      const [seen] = JSON.parse(body) as [Running];
      expect(seen.text).toMatch(new RegExp(`^/\\*request_id='${headers.get('x-id')}'\\*/ \\S`));
      expect(seen.prepared).toBe(0);
    }
  },
);

const ids: readonly (readonly [sent: string, shown: string])[] = [
  ['own-7.a:b_c', 'own-7.a%3Ab_c'],
  ["*/;drop/**/table/**/items;--'", '%2A%2F%3Bdrop%2F%2A%2A%2Ftable%2F%2A%2A%2Fitems%3B--%27'],
  [`'"\\$1$$%27%2A/`, '%27%22%5C%241%24%24%2527%252A%2F'],
  ['!()*~', '%21%28%29%2A~'],
];

test.each(ids)('the id %j of a client is %j in the comment', async (sent, shown) => {
  for (const dsn of [db.dsn, pooled]) {
    const gw = await load(
      file,
      `server { request_id_header X-Own; location / { dbrest_pass ${dsn}; ${COMMENTS} } }`,
    );
    const { body, headers } = await gw.fetch('/running', { headers: { 'X-Own': sent } });
    const [{ text }] = JSON.parse(body) as [Running];
    expect(text.startsWith(`/*request_id='${shown}'*/ `)).toBe(true);
    expect(decodeURIComponent(shown)).toBe(sent);
    expect(headers.get('x-own')).toBe(sent);
    expect(await db.query('select count(*)::int as n from items')).toEqual([{ n: 3 }]);
  }
});

test.each(['a\x01b', 'a b', 'aé*/'])(
  'an id with other bytes than visible ASCII is not taken: %j',
  async (sent) => {
    const gw = await load(
      file,
      `server { request_id_header X-Own; location / { dbrest_pass ${db.dsn}; ${COMMENTS} } }`,
    );
    const connection = await gw.connect();
    connection.write(
      Buffer.from(
        `GET /running HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Own: ${sent}\r\n\r\n`,
        'latin1',
      ),
    );
    const response = await connection.closed;
    expect(response).toMatch(/^HTTP\/1\.1 (400|200)/);
    if (response.includes(' 200 ')) expect(response).toMatch(/\/\*request_id='[0-9a-f-]{36}'\*\/ /);
  },
);

test('a batch, a count and a write have the comment, in the log of PostgreSQL too; the slow log has it not', async (t) => {
  const settings = { log_statement: 'all', log_line_prefix: '[%a] ' };
  const own = await ownPostgres(t, `create role anon; ${FIXTURE}`, settings);
  const gw = await load(
    t,
    `server { request_id_header X-Id; slow_log slow.log request=1h query=0;
       location / { dbrest_pass ${own.dsn}; ${COMMENTS} } }`,
  );
  const json = { 'content-type': 'application/json' };
  const sent = (id: string, prefer = '') => ({ ...json, 'X-Id': id, ...(prefer && { prefer }) });
  await gw.fetch('/items?limit=1', { headers: sent('of-count', 'count=exact') });
  await gw.fetch('/items', { method: 'POST', headers: sent('of-write'), body: '{"id":9,"word":"nine"}' });
  const batch = JSON.stringify([
    { method: 'GET', path: '/items?id=eq.9' },
    { method: 'PATCH', path: '/items?id=eq.9', body: { word: 'ten' } },
  ]);
  const { status } = await gw.fetch('/rpc/batch', { method: 'POST', headers: sent('of-batch'), body: batch });
  expect(status).toBe(200);
  const ANSWER = expect.stringContaining("current_setting('response.headers'") as string;
  const statements = async (id: string): Promise<readonly string[]> => {
    const pattern = new RegExp(`^\\[gw\\] LOG:\\s+execute <unnamed>: /\\*request_id='${id}'\\*/ (.*)$`, 'gm');
    return Array.from((await own.log()).matchAll(pattern), ([, text = '']) => text);
  };
  await expect
    .poll(() => statements('of-count'))
    .toEqual([expect.stringContaining('count('), expect.stringContaining('"items"')]);
  expect(await statements('of-write')).toEqual([expect.stringContaining('insert into'), ANSWER]);
  await expect
    .poll(() => statements('of-batch'))
    .toEqual([expect.stringContaining('select'), expect.stringContaining('update'), ANSWER]);
  await expect.poll(() => gw.read('slow.log')).toContain('insert into');
  expect(gw.read('slow.log')).not.toContain('/*');
});

test('the comment names the span of the query, if it has one', async (t) => {
  const collector = await startCollector(t);
  const gw = await load(
    t,
    `otel_exporter { endpoint 127.0.0.1:${collector.port}; protocol http/json; interval 5ms; } otel_trace on;
     server { location / { dbrest_pass ${db.dsn}; ${COMMENTS} }
       location /children/ { otel_child_spans on; dbrest_pass ${db.dsn}; ${COMMENTS} } }`,
  );
  const traceparentOf = async (path: string): Promise<string | undefined> => {
    const [{ text }] = JSON.parse((await gw.fetch(path)).body) as [Running];
    return /^\/\*request_id='[0-9a-f]{32}',traceparent='([^']+)'\*\/ /.exec(text)?.[1];
  };
  const plain = await traceparentOf('/running');
  const [server] = await collector.waitForSpans(1);
  expect(plain).toBe(`00-${server?.traceId}-${server?.spanId}-01`);
  const inner = await traceparentOf('/children/running');
  await collector.waitFor(
    () => collector.spans().filter(({ kind }) => kind === 2).length === 2,
    'second request',
  );
  const query = collector.spans().find(({ name }) => name === 'query');
  expect(inner).toBe(`00-${query?.traceId}-${query?.spanId}-01`);
});

test('without traces and with "off", statements are prepared and have no comment', async (t) => {
  const gw = await load(t, `server { location / { dbrest_pass ${db.dsn}; dbrest_anon_role anon; } }`);
  await gw.fetch('/running');
  const [{ text }] = JSON.parse((await gw.fetch('/running')).body) as [Running];
  expect(text).not.toContain('/*');
});
