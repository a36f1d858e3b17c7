import { beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../harness/gateway.ts';
import { wholeFile } from '../../harness/owner.ts';
import { postgres } from '../../harness/postgres.ts';

const FIXTURE = `
  create table items (id int primary key, name text);
  create table secrets (id int primary key, name text);
  insert into items values (1, 'a');
  insert into secrets values (1, 'b');
  create function opened() returns int stable language sql as $$ select 1 $$;
  grant select, insert, update, delete on items, secrets to anon;
`;

const file = wholeFile();
let gw: Gateway;
beforeAll(async () => {
  const { dsn } = await postgres(FIXTURE);
  const serve = `dbrest_pass ${dsn}; dbrest_mcp write; dbrest_batch on;`;
  gw = await startGateway(
    file,
    `dbrest_anon_role anon;
     error_page 403 @forbidden;
     server {
       location @forbidden { return 403 forbidden; }
       if ($http_x_blocked = "$request_method $uri") { return 451; }
       location /plain/ { ${serve} }
       location /nested/ { ${serve} location /nested/secrets { deny all; } }
       location /beside/ { ${serve} }
       location = /beside/secrets { deny all; }
       location ~ ^/beside/rpc/opened { return 404; }
       location /methods/ { ${serve} limit_except GET POST { deny all; } }
       location /condition/ { ${serve} if ($request_method = DELETE) { return 405; } }
       location /elsewhere/ { ${serve} if ($request_method = DELETE) { proxy_pass http://127.0.0.1:1; } }
       location /others/ { ${serve} limit_except GET POST { proxy_pass http://127.0.0.1:1; } }
       location /password/ { ${serve} location /password/secrets { ${serve} auth_basic here; auth_basic_user_file users; } }
       location /renamed/secrets { deny all; }
       location /renamed/ { rewrite ^/renamed/(.*)$ /inner/$1 last; }
       location /inner/ { internal; ${serve} }
     }`,
    { files: { users: 'ann:{PLAIN}x\n' } },
  );
});

interface InnerCase {
  readonly method: string;
  readonly path: string;
  readonly tool: string;
  readonly arguments: object;
}

const read = (table: string): InnerCase => ({
  method: 'GET',
  path: `/${table}`,
  tool: 'read_rows',
  arguments: { table },
});
const remove: InnerCase = {
  method: 'DELETE',
  path: '/items?id=eq.9',
  tool: 'delete_rows',
  arguments: { table: 'items', filters: [{ column: 'id', value: 9 }] },
};
const call: InnerCase = { method: 'GET', path: '/rpc/opened', tool: 'call_opened', arguments: {} };

/** The results of the three ways: a request by itself, in a batch, by a tool. */
const cases: [it: string, base: string, asked: InnerCase, alone: number, within: 'served' | 'refused'][] = [
  ['rows without rules', '/plain', read('secrets'), 200, 'served'],
  ['rows beside a location that denies others', '/nested', read('items'), 200, 'served'],
  ['rows of a nested location that denies', '/nested', read('secrets'), 403, 'refused'],
  ['rows of an exact location that denies', '/beside', read('secrets'), 403, 'refused'],
  ['a function of a regex location', '/beside', call, 404, 'refused'],
  ['a method that "limit_except" leaves', '/methods', read('secrets'), 200, 'served'],
  ['a method that "limit_except" denies', '/methods', remove, 403, 'refused'],
  ['a method that an "if" refuses', '/condition', remove, 405, 'refused'],
  ['a method that an "if" does not refuse', '/condition', read('items'), 200, 'served'],
  ['a method that an "if" sends elsewhere', '/elsewhere', remove, 502, 'refused'],
  ['a method that an "if" leaves', '/elsewhere', read('items'), 200, 'served'],
  ['a method that "limit_except" sends elsewhere', '/others', remove, 502, 'refused'],
  ['rows that take a password', '/password', read('secrets'), 401, 'refused'],
  ['rows of a location that is renamed', '/renamed', read('items'), 200, 'served'],
  ['rows that are denied before they are renamed', '/renamed', read('secrets'), 403, 'refused'],
];

const JSON_TYPE = { 'content-type': 'application/json' };

async function send(path: string, body: unknown, headers = {}): Promise<{ status: number; body: string }> {
  const accept = 'application/json, text/event-stream';
  const init = { method: 'POST', headers: { ...JSON_TYPE, accept, ...headers }, body: JSON.stringify(body) };
  return gw.fetch(path, init);
}

test.each(cases)(
  '%s of %s are for batches and tools as for their client',
  async (...[, base, asked, alone, within]) => {
    const { method, path, tool } = asked;
    expect((await gw.fetch(base + path, { method })).status).toBe(alone);
    const batch = await send(`${base}/rpc/batch`, [{ method, path }]);
    expect(batch.status, batch.body).toBe(within === 'served' ? 200 : 403);
    const params = { name: tool, arguments: asked.arguments };
    const { body } = await send(`${base}/mcp`, { jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    const { result } = JSON.parse(body) as { result: { isError: boolean } };
    expect(result.isError, body).toBe(within === 'refused');
    for (const text of [batch.body, body]) expect(text.includes('DBREST114')).toBe(within === 'refused');
  },
);

test('the whole batch is refused with the item that would be, and with the status that this would get', async () => {
  const items = [{ path: '/items' }, { path: '/secrets' }];
  const { status, body } = await send('/nested/rpc/batch', items);
  expect([status, JSON.parse(body)]).toEqual([
    403,
    {
      code: 'DBREST114',
      details: 'By itself it would get the status 403',
      hint: null,
      item: 1,
      message: 'The configuration does not serve this as a part of another request',
    },
  ]);
});

test('rewrites of the server see the method and the path of the request within', async () => {
  const blocked = { 'x-blocked': 'GET /plain/items' };
  expect((await gw.fetch('/plain/items', { headers: blocked })).status).toBe(451);
  const { body } = await send('/plain/rpc/batch', [{ path: '/items' }], blocked);
  expect(body).toContain('would get the status 451');
  expect((await send('/plain/rpc/batch', [{ path: '/secrets' }], blocked)).status).toBe(200);
});
