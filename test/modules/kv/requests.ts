import type { Expected } from '../../harness/expect-response.ts';

/** Requests in order: request line, body, and the expected response. */
export type Step = readonly [line: string, body: string | Buffer | undefined, expected: Expected];

const value = (one: unknown): Expected => ({ status: 200, body: `{"value":${JSON.stringify(one)}}` });
export const ok: Expected = { status: 200, body: '{"ok":true}' };
export const error = (status: number, code: string): Expected => ({ status, body: `{"error":"${code}"}` });

export const sequences: { readonly it: string; readonly steps: readonly Step[] }[] = [
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
    it: 'gets several keys, each decoded separately',
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
      ['POST /set?k=f', Buffer.alloc(2_001), { status: 413, json: { error: 'body_too_large' } }],
      ['POST /set?k=f', 'v'.repeat(2_000), ok],
    ],
  },
  {
    it: 'gives bytes that are not UTF-8 as base64',
    steps: [
      ['POST /set?k=g', Buffer.from([0xff, 0x00, 0x41]), ok],
      ['GET /get?k=g', undefined, { status: 200, body: '{"value":"\ufffd\\u0000A"}' }],
      ['GET /get?k=g&encoding=base64', undefined, value('/wBB')],
      ['GET /mget?keys=g,none&encoding=base64', undefined, { status: 200, body: '{"values":["/wBB",null]}' }],
    ],
  },
  {
    it: 'takes RESP in keys, fields and values as data',
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
