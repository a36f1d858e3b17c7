import type { Bytes, CommandName } from '../../../src/modules/kv/commands.ts';

/** One command and its outcome: a reply, or `refused`. */
export type Step = readonly [expected: unknown, name: CommandName, ...args: Bytes[]];
/** The store replies with an error. */
export const refused = { fault: 'kv_error' };

/** Every sequence has its own keys and runs against both stores with the same expectations. */
export const sequences: { readonly it: string; readonly steps: readonly Step[] }[] = [
  {
    it: 'finds nothing under a new key',
    steps: [
      [null, 'get', 'a1'],
      ['0', 'exists', 'a1'],
      ['0', 'strlen', 'a1'],
      ['0', 'del', 'a1'],
      ['-2', 'ttl', 'a1'],
      ['0', 'expire', 'a1', '9'],
    ],
  },
  {
    it: 'gives back what was set',
    steps: [
      ['OK', 'set', 'a2', 'v'],
      ['v', 'get', 'a2'],
      ['1', 'exists', 'a2'],
      ['1', 'strlen', 'a2'],
      ['-1', 'ttl', 'a2'],
      ['1', 'del', 'a2'],
      [null, 'get', 'a2'],
    ],
  },
  { it: 'replies to a ping', steps: [['PONG', 'ping']] },
  {
    it: 'keeps bytes that are no UTF-8',
    steps: [
      ['OK', 'set', Buffer.from([0, 255, 13, 10, 0]), Buffer.from([254, 0, 10])],
      ['\xfe\0\n', 'get', Buffer.from([0, 255, 13, 10, 0])],
      ['3', 'strlen', Buffer.from([0, 255, 13, 10, 0])],
    ],
  },
  {
    it: 'counts up and down from nothing',
    steps: [
      ['1', 'incr', 'a3'],
      ['2', 'incr', 'a3'],
      ['1', 'decr', 'a3'],
      ['-1', 'decr', 'a4'],
    ],
  },
  {
    it: 'counts exactly beyond 2^53',
    steps: [
      ['OK', 'set', 'a5', '9007199254740992'],
      ['9007199254740993', 'incr', 'a5'],
      ['9007199254740993', 'get', 'a5'],
    ],
  },
  {
    it: 'refuses to count past int64',
    steps: [
      ['OK', 'set', 'a6', '9223372036854775807'],
      [refused, 'incr', 'a6'],
      ['9223372036854775806', 'decr', 'a6'],
      ['OK', 'set', 'a6', '-9223372036854775808'],
      [refused, 'decr', 'a6'],
      ['-9223372036854775807', 'incr', 'a6'],
    ],
  },
  ...['x', '', ' 1', '1 ', '+1', '01', '-0', '1.0', '9223372036854775808', '0x1', '1\0'].map((value, at) => ({
    it: `refuses to count from ${JSON.stringify(value)}`,
    steps: [
      ['OK', 'set', `b${at}`, value],
      [refused, 'incr', `b${at}`],
      [value, 'get', `b${at}`],
    ] as Step[],
  })),
  {
    it: 'expires at once when the time is in the past',
    steps: [
      ['OK', 'set', 'c1', 'v'],
      ['1', 'expire', 'c1', '0'],
      [null, 'get', 'c1'],
      ['OK', 'set', 'c1', 'v'],
      ['1', 'expire', 'c1', '-5'],
      ['-2', 'ttl', 'c1'],
    ],
  },
  {
    it: 'gives the remaining seconds',
    steps: [
      ['OK', 'set', 'c2', 'v'],
      ['1', 'expire', 'c2', '1000'],
      ['1000', 'ttl', 'c2'],
      ['1', 'expire', 'c2', '50'],
      ['50', 'ttl', 'c2'],
    ],
  },
  {
    it: 'forgets an expiry on set, keeps it on incr',
    steps: [
      ['1', 'incr', 'c3'],
      ['1', 'expire', 'c3', '100'],
      ['2', 'incr', 'c3'],
      ['100', 'ttl', 'c3'],
      ['OK', 'set', 'c3', 'v'],
      ['-1', 'ttl', 'c3'],
    ],
  },
  ...['x', '', '1.5', ' 1', '9223372036854775807', '-9223372036854775808', '99999999999999999999'].map(
    (seconds) => ({
      it: `refuses to expire in ${JSON.stringify(seconds)} seconds`,
      steps: [
        ['OK', 'set', 'c4', 'v'],
        [refused, 'expire', 'c4', seconds],
        ['v', 'get', 'c4'],
      ] as Step[],
    }),
  ),
  { it: 'refuses a bad expiry of a key that is not there', steps: [[refused, 'expire', 'c5', 'x']] },
  {
    it: 'takes an expiry in a million years',
    steps: [
      ['OK', 'set', 'c6', 'v'],
      ['1', 'expire', 'c6', '31536000000000'],
      ['31536000000000', 'ttl', 'c6'],
    ],
  },
  {
    it: 'gives several values in order',
    steps: [
      ['OK', 'set', 'd1', '1'],
      ['OK', 'set', 'd2', '2'],
      ['1', 'hset', 'd3', 'f', 'v'],
      [['2', null, '1', null, '2'], 'mget', 'd2', 'd0', 'd1', 'd3', 'd2'],
    ],
  },
  {
    it: 'sets, reads and removes fields',
    steps: [
      ['1', 'hset', 'e1', 'f', 'a'],
      ['0', 'hset', 'e1', 'f', 'b'],
      ['b', 'hget', 'e1', 'f'],
      [null, 'hget', 'e1', 'g'],
      [null, 'hget', 'e0', 'f'],
      ['0', 'hdel', 'e1', 'g'],
      ['1', 'hdel', 'e1', 'f'],
      ['0', 'exists', 'e1'],
      ['0', 'hdel', 'e1', 'f'],
    ],
  },
  {
    it: 'keeps a hash until its last field is removed',
    steps: [
      ['1', 'hset', 'e2', 'f', 'a'],
      ['1', 'hset', 'e2', 'g', 'b'],
      ['1', 'hdel', 'e2', 'f'],
      ['b', 'hget', 'e2', 'g'],
      ['1', 'del', 'e2'],
      [null, 'hget', 'e2', 'g'],
    ],
  },
  {
    it: 'keeps the expiry of a hash',
    steps: [
      ['1', 'hset', 'e3', 'f', 'a'],
      ['1', 'expire', 'e3', '100'],
      ['1', 'hset', 'e3', 'g', 'b'],
      ['100', 'ttl', 'e3'],
      ['1', 'hdel', 'e3', 'f'],
      ['100', 'ttl', 'e3'],
    ],
  },
  {
    it: 'does not bring fields of an expired hash back',
    steps: [
      ['1', 'hset', 'e4', 'f', 'a'],
      ['1', 'expire', 'e4', '-1'],
      ['1', 'hset', 'e4', 'g', 'b'],
      [null, 'hget', 'e4', 'f'],
    ],
  },
  {
    it: 'refuses string commands on a hash',
    steps: [
      ['1', 'hset', 'f1', 'f', 'v'],
      [refused, 'get', 'f1'],
      [refused, 'incr', 'f1'],
      [refused, 'strlen', 'f1'],
      ['1', 'exists', 'f1'],
      ['OK', 'set', 'f1', 'v'],
      [refused, 'hget', 'f1', 'f'],
      [refused, 'hset', 'f1', 'f', 'v'],
      [refused, 'hdel', 'f1', 'f'],
    ],
  },
  {
    it: 'tells keys and fields of 8 KB apart by their last byte',
    steps: [
      ['OK', 'set', `${'k'.repeat(8191)}1`, 'a'],
      ['OK', 'set', `${'k'.repeat(8191)}2`, 'b'],
      ['a', 'get', `${'k'.repeat(8191)}1`],
      ['1', 'hset', 'g1', 'f'.repeat(8192), 'c'],
      ['c', 'hget', 'g1', 'f'.repeat(8192)],
      [null, 'hget', 'g1', 'f'.repeat(8191)],
    ],
  },
  {
    it: 'keeps a value of 1 MB',
    steps: [
      ['OK', 'set', 'g2', 'v'.repeat(1024 ** 2)],
      [String(1024 ** 2), 'strlen', 'g2'],
      ['v'.repeat(1024 ** 2), 'get', 'g2'],
    ],
  },
  ...['*1\r\n$8\r\nFLUSHALL\r\n', '\r\nSET h2 pwned\r\n', '$-1\r\n', '\0', '+OK\r\n'].map((text) => ({
    it: `takes ${JSON.stringify(text)} as data`,
    steps: [
      ['OK', 'set', `h1${text}`, text],
      [text, 'get', `h1${text}`],
      ['1', 'hset', 'h3', `x${text}`, text],
      [text, 'hget', 'h3', `x${text}`],
      [null, 'get', 'h2'],
      [[text], 'mget', `h1${text}`],
      ['1', 'del', 'h3'],
    ] as Step[],
  })),
];
