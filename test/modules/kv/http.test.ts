import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { COMMAND_NAMES } from '../../../src/modules/kv/commands.ts';
import { type Gateway, startGateway } from '../../harness/gateway.ts';
import { redis } from '../../harness/redis.ts';
import { error, ok, sequences } from './requests.ts';

const methods = [
  ...['get', 'mget', 'exists', 'ttl', 'ping', 'strlen', 'hget'].map((name) => [name, 'GET, HEAD'] as const),
  ...['set', 'incr', 'decr', 'expire', 'hset'].map((name) => [name, 'POST'] as const),
  ...['del', 'hdel'].map((name) => [name, 'POST, DELETE'] as const),
];

/** A location per command, with the key in `?k=`; `/` and `/w/` take the key from the URI. */
function confOf(pass: string): string {
  const locations = COMMAND_NAMES.map(
    (name) => `location = /${name} { kv_pass ${pass}; kv_command ${name}; kv_key $arg_k; }`,
  );
  const byUri = `location / { kv_pass ${pass}; } location /w/ { kv_pass ${pass}; kv_command set; }`;
  return `kv_max_value_size 2000; server { ${locations.join('\n')} ${byUri} }`;
}

describe.each(['redis', 'embedded'])('%s', (kind) => {
  let gw: Gateway;
  beforeAll(async () => {
    const pass = kind === 'redis' ? `127.0.0.1:${(await redis()).port}` : 'embedded:data/kv';
    gw = await startGateway({ onTestFinished: afterAll }, confOf(pass));
  });

  test.each(sequences)('$it', async ({ steps }) => {
    for (const [line, body, expected] of steps) {
      const { headers } = await gw.expect(line, expected, body === undefined ? {} : { body });
      expect(headers.get('content-type')).toBe('application/json');
      expect(headers.get('content-length')).not.toBeNull();
    }
  });

  test('takes the key from the decoded and normalised URI', async () => {
    await gw.expect('POST /w/x/..//my%20key%C3%BC', ok, { body: 'v' });
    await gw.expect('GET /mget?keys=w%2Fmy%20key%C3%BC', { json: { values: ['v'] } });
    await gw.expect('GET /', error(400, 'empty_key'));
  });

  test.each(methods)('allows %s by %s only', async (name, allow) => {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      const { status, headers, body } = await gw.fetch(`/${name}?k=m&field=f&keys=m`, { method });
      const refused = [405, allow, '{"error":"method_not_allowed"}'];
      if (allow.includes(method)) expect(status, method).not.toBe(405);
      else expect([status, headers.get('allow'), body], method).toEqual(refused);
    }
  });

  test('HEAD gets the headers of GET', async () => {
    await gw.expect('POST /set?k=head', ok, { body: 'v' });
    const response = await gw.expect('HEAD /get?k=head', { status: 200, body: '' });
    expect(response.headers.get('content-length')).toBe('13');
    expect(response.headers.get('content-type')).toBe('application/json');
  });
});
