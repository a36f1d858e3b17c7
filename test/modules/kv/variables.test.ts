import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../harness/gateway.ts';
import { freePort } from '../../harness/ports.ts';
import { redis } from '../../harness/redis.ts';

let gw: Gateway;
beforeAll(async () => {
  const { port, client } = await redis();
  await client.set('hit', 'the value');
  await client.set('split', 'a\r\nX-Injected: 1');
  await client.hset('hash', 'f', 'field value');
  const down = await freePort();
  const location = (path: string, pass: number, command: string): string => `location /${path} {
    kv_pass 127.0.0.1:${pass}; kv_key $arg_k; kv_command ${command};
    add_header X-Value $kv_last_value always;
    add_header X-Exists $kv_last_exists always;
    add_header X-Error $kv_last_error always;
    add_header X-State $kv_connection_state always;
  }`;
  const commands = ['get', 'hget', 'del', 'exists', 'ttl', 'strlen', 'ping', 'incr'];
  gw = await startGateway(
    { onTestFinished: afterAll },
    `log_format v '$kv_last_value|$kv_last_exists|$kv_last_error|$kv_connection_state';
     server {
       access_log access.log v;
       ${commands.map((name) => location(`${name}/`, port, name)).join('\n')}
       ${location('down/', down, 'get')}
       location /none { return 204; add_header X-State "$kv_connection_state" always; }
     }`,
  );
});

const rows = [
  { it: 'get hit', line: 'GET /get/?k=hit', status: 200, is: ['the value', '1', null, 'connected'] },
  { it: 'get miss', line: 'GET /get/?k=miss', status: 200, is: [null, '0', null, 'connected'] },
  { it: 'get error', line: 'GET /get/?k=hash', status: 500, is: [null, '0', 'kv_error', 'degraded'] },
  {
    it: 'hget hit',
    line: 'GET /hget/?k=hash&field=f',
    status: 200,
    is: ['field value', '1', null, 'connected'],
  },
  { it: 'hget miss', line: 'GET /hget/?k=hash&field=g', status: 200, is: [null, '0', null, 'connected'] },
  { it: 'exists hit', line: 'GET /exists/?k=hit', status: 200, is: [null, '1', null, 'connected'] },
  { it: 'exists miss', line: 'GET /exists/?k=miss', status: 200, is: [null, '0', null, 'connected'] },
  { it: 'ttl hit', line: 'GET /ttl/?k=hit', status: 200, is: [null, '1', null, 'connected'] },
  { it: 'ttl miss', line: 'GET /ttl/?k=miss', status: 200, is: [null, '0', null, 'connected'] },
  { it: 'strlen miss', line: 'GET /strlen/?k=miss', status: 200, is: [null, '0', null, 'connected'] },
  { it: 'del miss', line: 'DELETE /del/?k=miss', status: 200, is: [null, '0', null, 'connected'] },
  { it: 'ping', line: 'GET /ping/', status: 200, is: [null, null, null, 'connected'] },
  { it: 'incr', line: 'POST /incr/?k=n', status: 200, is: [null, '1', null, 'connected'] },
  {
    it: 'unreachable',
    line: 'GET /down/?k=hit',
    status: 502,
    is: [null, null, 'connection_failed', 'error'],
  },
  { it: 'a refused request', line: 'GET /get/', status: 400, is: [null, null, null, null] },
  { it: 'a location without kv_pass', line: 'GET /none', status: 204, is: [null, null, null, null] },
];
test.each(rows)('the variables say $is after $it', async ({ line, status, is }) => {
  const { headers } = await gw.expect(line, { status });
  expect(['x-value', 'x-exists', 'x-error', 'x-state'].map((name) => headers.get(name))).toEqual(is);
});

test('a value with control characters leaves its header out and a line in the error log', async () => {
  const response = await gw.expect('GET /get/?k=split', {
    status: 200,
    json: { value: 'a\r\nX-Injected: 1' },
  });
  expect(response.headers.get('x-value')).toBeNull();
  expect(response.headers.get('x-injected')).toBeNull();
  expect(response.headers.get('x-exists')).toBe('1');
  await gw.waitForLog(/header "X-Value" is dropped/);
});

test('an access log has the variables too', async () => {
  await gw.expect('GET /get/?k=hit', { status: 200 });
  await gw.waitForAccessLog(/^the value\|1\|-?\|connected$/m);
});
