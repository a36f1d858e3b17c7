import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { COMMAND_NAMES } from '../../../src/modules/kv/commands.ts';
import type { Expected } from '../../harness/expect-answer.ts';
import type { Gateway } from '../../harness/gateway.ts';
import { startGateway } from '../../harness/gateway.ts';
import { redis } from '../../harness/redis.ts';

/** One request after the other: request line, body, and what must come back. */
type Step = readonly [line: string, body: string | Buffer | undefined, expected: Expected];

const value = (one: unknown): Expected => ({ status: 200, body: `{"value":${JSON.stringify(one)}}` });
const ok: Expected = { status: 200, body: '{"ok":true}' };
const error = (status: number, code: string): Expected => ({ status, body: `{"error":"${code}"}` });

const sequences: { readonly it: string; readonly steps: readonly Step[] }[] = [
  {
    it: 'sets, gets and deletes',
    steps: [
      ['GET /get?k=a', undefined, value(null)],
      ['POST /set?k=a', 'hällo "1"\n', ok],
      ['GET /get?k=a', undefined, value('hällo "1"\n')],
      ['GET /exists?k=a', undefined, value(1)],
      ['GET /strlen?k=a', undefined, value(11)],
      ['GET /ttl?k=a', undefined, value(-1)],
      ['DELETE /del?k=a', undefined, value(1)],
      ['POST /del?k=a', undefined, value(0)],
      ['GET /ttl?k=a', undefined, value(-2)],
      ['GET /ping', undefined, ok],
    ],
  },
  {
    it: 'counts, and writes integers beyond 2^53 exactly',
    steps: [
      ['POST /incr?k=b', undefined, value(1)],
      ['POST /decr?k=b', undefined, value(0)],
      ['POST /set?k=b', '9007199254740992', ok],
      ['POST /incr?k=b', undefined, { status: 200, body: '{"value":9007199254740993}' }],
      ['POST /set?k=b', '9223372036854775807', ok],
      ['POST /incr?k=b', undefined, error(500, 'kv_error')],
      ['POST /set?k=b', 'x', ok],
      ['POST /incr?k=b', undefined, error(500, 'kv_error')],
    ],
  },
  {
    it: 'expires in 60 seconds unless the body says otherwise',
    steps: [
      ['POST /expire?k=c', undefined, value(0)],
      ['POST /set?k=c', 'v', ok],
      ['POST /expire?k=c', undefined, value(1)],
      ['GET /ttl?k=c', undefined, { status: 200, body: /^\{"value":(?:60|59)\}$/ }],
      ['POST /expire?k=c', '1000', value(1)],
      ['GET /ttl?k=c', undefined, { status: 200, body: /^\{"value":(?:1000|999)\}$/ }],
      ['POST /expire?k=c', 'soon', error(500, 'kv_error')],
      ['POST /expire?k=c', '1.5', error(500, 'kv_error')],
    ],
  },
  {
    it: 'gets several keys, each decoded by itself',
    steps: [
      ['POST /set?k=d,1', 'v1', ok],
      ['POST /set?k=d2', 'v2', ok],
      ['GET /mget?keys=d2,none,d%2C1', undefined, { status: 200, body: '{"values":["v2",null,"v1"]}' }],
      ['GET /mget', undefined, error(400, 'missing_keys')],
      ['GET /mget?keys=', undefined, error(400, 'missing_keys')],
      ['GET /mget?keys=a,,b', undefined, error(400, 'empty_key')],
      [`GET /mget?keys=${Array(17).fill('k').join(',')}`, undefined, error(400, 'too_many_keys')],
      [
        `GET /mget?keys=${Array(16).fill('none').join(',')}`,
        undefined,
        { status: 200, json: { values: Array(16).fill(null) } },
      ],
    ],
  },
  {
    it: 'works on the fields of a hash',
    steps: [
      ['POST /hset?k=e&field=f%20g', 'v', value(1)],
      ['POST /hset?k=e&field=f%20g', 'w', value(0)],
      ['GET /hget?k=e&field=f%20g', undefined, value('w')],
      ['GET /hget?k=e&field=x', undefined, value(null)],
      ['GET /get?k=e', undefined, error(500, 'kv_error')],
      ['GET /hget?k=e', undefined, error(400, 'missing_field')],
      ['POST /hset?k=e', 'v', error(400, 'missing_field')],
      ['POST /hset?k=e&field=f', undefined, error(400, 'empty_body')],
      ['DELETE /hdel?k=e', undefined, error(400, 'missing_field')],
      ['DELETE /hdel?k=e&field=f%20g', undefined, value(1)],
      ['POST /hdel?k=e&field=f%20g', undefined, value(0)],
    ],
  },
  {
    it: 'refuses what lacks a key or a value',
    steps: [
      ['GET /get', undefined, error(400, 'empty_key')],
      ['POST /set?k=f', undefined, error(400, 'empty_body')],
      ['POST /set?k=f', Buffer.alloc(2_001), { status: 413 }],
      ['POST /set?k=f', 'v'.repeat(2_000), ok],
    ],
  },
  {
    it: 'gives bytes that are no UTF-8 whole as base64',
    steps: [
      ['POST /set?k=g', Buffer.from([0xff, 0x00, 0x41]), ok],
      ['GET /get?k=g', undefined, { status: 200, body: '{"value":"\ufffd\\u0000A"}' }],
      ['GET /get?k=g&encoding=base64', undefined, value('/wBB')],
      ['GET /mget?keys=g,none&encoding=base64', undefined, { status: 200, body: '{"values":["/wBB",null]}' }],
    ],
  },
  {
    it: 'takes RESP in keys, fields and values for data',
    steps: [
      ['POST /set?k=h', '\r\n*1\r\n$8\r\nFLUSHALL\r\n', ok],
      ['POST /hset?k=h2&field=%0D%0A*1%0D%0A$8%0D%0AFLUSHALL%0D%0A', '$-1\r\n', value(1)],
      [
        'GET /mget?keys=h%0D%0A*1%0D%0A$8%0D%0AFLUSHALL%0D%0A,h',
        undefined,
        { status: 200, json: { values: [null, '\r\n*1\r\n$8\r\nFLUSHALL\r\n'] } },
      ],
      ['GET /hget?k=h2&field=%0D%0A*1%0D%0A$8%0D%0AFLUSHALL%0D%0A', undefined, value('$-1\r\n')],
    ],
  },
  {
    it: 'refuses a reply beyond kv_max_value_size',
    steps: [
      ['POST /set?k=i1', 'v'.repeat(1_500), ok],
      ['GET /mget?keys=i1', undefined, { status: 200 }],
      ['GET /mget?keys=i1,i1', undefined, error(502, 'value_too_large')],
      ['GET /get?k=i1', undefined, { status: 200 }],
    ],
  },
];

describe.each(['redis', 'embedded'])('%s', (kind) => {
  let gw: Gateway;
  beforeAll(async () => {
    const pass = kind === 'redis' ? `127.0.0.1:${(await redis()).port}` : 'embedded:data/kv';
    const locations = COMMAND_NAMES.map(
      (name) => `location = /${name} { kv_pass ${pass}; kv_command ${name}; kv_key $arg_k; }`,
    );
    const byUri = `location / { kv_pass ${pass}; } location /w/ { kv_pass ${pass}; kv_command set; }`;
    gw = await startGateway(
      { onTestFinished: afterAll },
      `kv_max_value_size 2000; server { ${locations.join('\n')} ${byUri} }`,
    );
  });

  test.each(sequences)('$it', async ({ steps }) => {
    for (const [line, body, expected] of steps) {
      const { headers } = await gw.expect(line, expected, body === undefined ? {} : { body });
      if (expected.status === 413) continue;
      expect(headers.get('content-type')).toBe('application/json');
      expect(headers.get('content-length')).not.toBeNull();
    }
  });

  test('takes the key from the decoded and normalised URI', async () => {
    await gw.expect('POST /w/x/..//my%20key%C3%BC', ok, { body: 'v' });
    await gw.expect('GET /mget?keys=w%2Fmy%20key%C3%BC', { json: { values: ['v'] } });
    await gw.expect('GET /', error(400, 'empty_key'));
  });

  const methods = [
    ...['get', 'mget', 'exists', 'ttl', 'ping', 'strlen', 'hget'].map((name) => [name, 'GET, HEAD'] as const),
    ...['set', 'incr', 'decr', 'expire', 'hset'].map((name) => [name, 'POST'] as const),
    ...['del', 'hdel'].map((name) => [name, 'POST, DELETE'] as const),
  ];
  test.each(methods)('allows %s by %s only', async (name, allow) => {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      const { status, headers, body } = await gw.fetch(`/${name}?k=m&field=f&keys=m`, { method });
      if (allow.includes(method)) expect(status, method).not.toBe(405);
      else {
        expect([method, status, headers.get('allow'), body]).toEqual([
          method,
          405,
          allow,
          '{"error":"method_not_allowed"}',
        ]);
      }
    }
  });

  test('answers HEAD with the head of GET', async () => {
    await gw.expect('POST /set?k=head', ok, { body: 'v' });
    const answer = await gw.expect('HEAD /get?k=head', { status: 200, body: '' });
    expect(answer.headers.get('content-length')).toBe('13');
    expect(answer.headers.get('content-type')).toBe('application/json');
  });
});
