import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { expect, test } from 'vitest';
import { call, errorOf, names, toolsOfFile } from './tool-server.ts';

const tools = toolsOfFile();

const message = (more: object): string => JSON.stringify({ jsonrpc: '2.0', id: 1, ...more });
const hostile: [it: string, body: string, status: number, code: number][] = [
  ['no JSON', '{', 400, -32_700],
  ['nothing', '', 400, -32_700],
  ['a deep nest', '['.repeat(5_000), 400, -32_700],
  ['a list of messages', `[${message({ method: 'ping' })}]`, 400, -32_600],
  ['a text', '"ping"', 400, -32_600],
  ['another version', '{"jsonrpc":"1.0","id":1,"method":"ping"}', 400, -32_600],
  ['no method', message({}), 400, -32_600],
  ['a method that is no text', message({ method: 1 }), 400, -32_600],
  ['an id that is null', message({ method: 'ping', id: null }), 400, -32_600],
  ['an id that is an object', message({ method: 'ping', id: {} }), 400, -32_600],
  ['an id without an end', message({ method: 'ping', id: 'x'.repeat(1_000) }), 400, -32_600],
  ['parameters that are a list', message({ method: 'ping', params: [] }), 400, -32_600],
  ['an unknown method', message({ method: 'resources/list' }), 200, -32_601],
  ['an inherited method', message({ method: '__proto__' }), 200, -32_601],
  ['a tool without a name', message({ method: 'tools/call', params: {} }), 200, -32_602],
  ['a name that is no text', message({ method: 'tools/call', params: { name: {} } }), 200, -32_602],
  ['an initialisation without a version', message({ method: 'initialize', params: {} }), 200, -32_602],
];
test.each(hostile)('%s gets an error of JSON-RPC', async (...[, body, status, code]) => {
  const response = await tools.it.post('/api/mcp', body);
  expect([response.status, JSON.parse(response.body)]).toEqual([
    status,
    { jsonrpc: '2.0', id: status === 200 ? 1 : null, error: { code, message: expect.any(String) as string } },
  ]);
});

const wrongArguments: [name: string, given: unknown][] = [
  ['read_rows', []],
  ['read_rows', [1]],
  ['list_tables', 7],
  ['read_rows', 'films'],
  ['read_rows', {}],
  ['read_rows', { table: 1 }],
  ['read_rows', { table: 'films', nope: 1 }],
  ['read_rows', { table: 'films', limit: -1 }],
  ['read_rows', { table: 'films', limit: '1' }],
  ['read_rows', { table: 'films', filters: {} }],
  ['read_rows', { table: 'films', filters: [1] }],
  ['read_rows', { table: 'films', filters: [{ column: 'id' }] }],
  ['read_rows', { table: 'films', filters: [{ column: 'id', operator: 'drop', value: 1 }] }],
  ['read_rows', { table: 'films', filters: [{ column: 'id', operator: 'in', value: 1 }] }],
  ['read_rows', { table: 'films', filters: [{ column: 'id', value: 1, not: 'x' }] }],
  ['read_rows', { table: 'films', filters: [{ column: 'id', operator: 'gt', value: null }] }],
  ['read_rows', { table: 'films', filters: [{ column: 'id', operator: 'in', value: [[1]] }] }],
  ['call_film_count', [1]],
];
test.each(wrongArguments)('%s with %j is told what it takes', async (name, given) => {
  const response = await tools.it.post(
    '/api/mcp',
    message({ method: 'tools/call', params: { name, arguments: given } }),
  );
  const { result } = JSON.parse(response.body) as { result: CallToolResult };
  expect(errorOf(result)).toMatchObject({ code: 'DBREST133', details: expect.any(String) as string });
});

test('notifications and responses get 202 without a body', async () => {
  for (const body of [
    '{"jsonrpc":"2.0","method":"notifications/initialized"}',
    '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"read_rows"}}',
    '{"jsonrpc":"2.0","id":7,"result":{}}',
    '{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"x"}}',
  ]) {
    const response = await tools.it.post('/api/mcp', body);
    expect([response.status, response.body]).toEqual([202, '']);
  }
});

test.each(['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'])(
  'revision %s is spoken',
  async (version) => {
    const response = await tools.it.post(
      '/api/mcp',
      message({ method: 'initialize', params: { protocolVersion: version } }),
      {
        'mcp-protocol-version': version,
      },
    );
    expect(JSON.parse(response.body)).toMatchObject({ result: { protocolVersion: version } });
  },
);

test('a client of an unknown revision is offered the newest one', async () => {
  const response = await tools.it.post(
    '/api/mcp',
    message({ method: 'initialize', params: { protocolVersion: '1999-01-01' } }),
  );
  expect(JSON.parse(response.body)).toMatchObject({ result: { protocolVersion: '2025-11-25' } });
});

const heads: [it: string, status: number, headers: Record<string, string>, path?: string][] = [
  ['an unknown revision', 400, { 'mcp-protocol-version': '1999-01-01' }],
  ['a client that takes no JSON', 406, { accept: 'text/event-stream' }],
  ['another media type', 415, { 'content-type': 'text/plain' }],
  ['a page of another site', 403, { origin: 'https://evil.test' }],
  ['a page without an origin', 403, { origin: 'null' }],
  ['a rebound name', 403, { origin: 'http://evil.test', host: 'evil.test' }],
  ['a page of the gateway', 200, { origin: 'http://gateway.test', host: 'gateway.test' }],
  ['a page that the configuration names', 200, { origin: 'https://trusted.test' }, '/few/mcp'],
  ['a page that the configuration does not name', 403, { origin: 'https://other.test' }, '/few/mcp'],
  ['a token that is refused', 401, { authorization: 'Bearer a.b.c' }, '/strict/mcp'],
  ['a location without tools', 404, {}, '/off/mcp'],
];
test.each(heads)('%s gets %d', async (...[, status, headers, path = '/api/mcp']) => {
  const response = await tools.it.post(path, message({ method: 'ping' }), headers);
  expect([response.status, response.body]).toEqual([status, expect.any(String) as string]);
  // DBREST130 is for what gw refuses in any location.
  if (status === 403) expect(JSON.parse(response.body)).toMatchObject({ code: 'DBREST136' });
  if (status === 401) expect(response.headers.get('www-authenticate')).toMatch(/^Bearer/);
});

test.each(['GET', 'DELETE', 'PUT'])('%s gets 405', async (method) => {
  const response = await tools.it.gw.fetch('/api/mcp', { method });
  expect([response.status, response.headers.get('allow')]).toEqual([405, 'OPTIONS,POST']);
});

test('a function that is created while a client is there shows with the next list', async () => {
  const client = await tools.it.connect('/api/');
  expect(await names(client)).not.toContain('call_brand_new');
  await tools.it.db.query(`create function brand_new() returns int stable language sql as $$ select 5 $$;
    grant execute on function brand_new to anon; notify pgrst, 'reload schema'`);
  await expect.poll(() => names(client)).toContain('call_brand_new');
  expect((await call(client, 'call_brand_new')).structuredContent).toEqual({ result: 5 });
});
