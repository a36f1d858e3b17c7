import { PassThrough } from 'node:stream';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { type Bytes, type FlatReply, ReplyError, RespReader, RespWriter } from '../../../src/redis/resp.ts';
import { redis } from '../../harness/redis.ts';
import { outcomeOf, redisStore } from './stores.ts';

const bytes = fc.uint8Array({ maxLength: 40 }).map((some) => Buffer.from(some));
/** Text of any UTF-16 units, lone surrogates included, mixed with RESP framing. */
const text = fc.oneof(
  fc
    .array(fc.oneof(fc.nat(0x7f), fc.nat(0xffff)), { maxLength: 20 })
    .map((units) => String.fromCharCode(...units)),
  fc.constantFrom('', '\r\n', '\r\n*1\r\n$8\r\nFLUSHALL\r\n', '$-1\r\n'),
);

test('commands arrive as they were added, with any arguments', () => {
  const command = fc.array(fc.oneof<fc.Arbitrary<Bytes>[]>(bytes, text), { maxLength: 4 });
  const property = fc.property(fc.array(command, { maxLength: 6 }), (commands) => {
    const writer = new RespWriter();
    const socket = new PassThrough();
    for (const args of commands) writer.add('set', args);
    writer.flush(socket);
    const written = (socket.read() as Buffer | null) ?? Buffer.alloc(0);
    expect(replies(written)).toEqual(commands.map((args) => ['set', ...args].map((one) => Buffer.from(one))));
    writer.flush(socket);
    expect(socket.read()).toBeNull();
  });
  fc.assert(property, { numRuns: 500 });
});

test('a real server keeps any text and any bytes as they are', async () => {
  const store = redisStore((await redis()).port);
  onTestFinished(() => store.close());
  const any = fc.oneof<fc.Arbitrary<Bytes>[]>(bytes, text);
  const property = fc.asyncProperty(any, any, async (key, value) => {
    const [set, get] = await Promise.all([outcomeOf(store, 'set', key, value), outcomeOf(store, 'get', key)]);
    expect(set).toEqual({ reply: 'OK' });
    expect(get).toEqual({ reply: Buffer.from(value).toString('latin1') });
  });
  await fc.assert(property, { numRuns: 300 });
});

const line = fc.stringMatching(/^[ -~]{0,20}$/);
const item = fc.option(bytes);
const reply: fc.Arbitrary<FlatReply | ReplyError> = fc.oneof(
  item,
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
  fc.array(item, { maxLength: 4 }),
  line.map((message) => new ReplyError(message)),
);

test('replies are read back in pieces of any size', () => {
  const property = fc.property(fc.array(reply), fc.array(fc.integer({ min: 1, max: 30 })), (sent, sizes) => {
    expect(replies(Buffer.concat(sent.map(frame)), sizes)).toEqual(sent);
  });
  fc.assert(property, { numRuns: 1_000 });
});

test('a status is read as its bytes, and an absent list as nil', () => {
  expect(replies(Buffer.from('+PONG\r\n*-1\r\n$0\r\n\r\n'))).toEqual([
    Buffer.from('PONG'),
    null,
    Buffer.alloc(0),
  ]);
});

const malformed = [
  'HTTP/1.1 400 Bad Request\r\n\r\n',
  '\r\n',
  '\0',
  '%1\r\n$1\r\na\r\n$1\r\nb\r\n',
  '$x\r\n',
  '$\r\n',
  '$-2\r\n',
  '$1e1\r\n',
  '$12345678901\r\n',
  '$1\rx',
  '$1\r\nab\r\n',
  '$1\r\na\rx',
  ':\r\n',
  ':-\r\n',
  ':1.5\r\n',
  ':12345678901234567890\r\n',
  ':1,"x":2\r\n',
  '*1\r\n:1\r\n',
  '*1\r\n*1\r\n$1\r\na\r\n',
];
test.each(malformed)('%j is not RESP, in one piece and byte by byte', (said) => {
  for (const sizes of [[], Array<number>(said.length).fill(1)]) {
    expect(() => replies(Buffer.from(`:1\r\n${said}`), sizes)).toThrow(/^a reply that is not RESP$/);
  }
});

test('a line that does not end is not RESP', () => {
  let problem: string | undefined;
  const reader = new RespReader(1_000_000, () => undefined);
  for (let sent = 0; sent <= 4_096 && problem === undefined; sent++) problem = reader.read(Buffer.from('+'));
  expect(problem).toBe('a reply that is not RESP');
});

test('random bytes end in replies, a wait or a refusal, and never in an exception', () => {
  const noise = fc.array(fc.oneof(fc.constantFrom('$', '*', ':', '+', '-', '1', '0', '\r\n'), line));
  fc.assert(
    fc.property(noise, (pieces) => {
      const reader = new RespReader(1_000, () => undefined);
      const problems = pieces.map((piece) => reader.read(Buffer.from(piece)));
      const [first, ...rest] = problems.slice(problems.findIndex((problem) => problem !== undefined));
      expect([undefined, 'a reply that is not RESP', 'a reply exceeds 1000 bytes']).toContain(first);
      if (first !== undefined) expect(new Set([first, ...rest]).size).toBe(1);
    }),
    { numRuns: 1_000 },
  );
});

const tooLarge = [
  { it: 'its announced length', said: '$1001\r\n' },
  { it: 'the sum of its strings', said: `*3\r\n${`$400\r\n${'x'.repeat(400)}\r\n`.repeat(3)}` },
];
test.each(tooLarge)('a reply is refused for $it', ({ said }) => {
  expect(() => replies(Buffer.from(said), Array<number>(20).fill(60))).toThrow(
    /^a reply exceeds 1000 bytes$/,
  );
});

/** The replies in bytes that arrive in pieces of these sizes, the rest in one piece; throws the fault. */
function replies(sent: Buffer, sizes: readonly number[] = []): (FlatReply | ReplyError)[] {
  const read: (FlatReply | ReplyError)[] = [];
  const reader = new RespReader(1_000, (one) => read.push(one));
  let rest = sent;
  for (const size of [...sizes, sent.length]) {
    const problem = reader.read(rest.subarray(0, size));
    if (problem !== undefined) throw new Error(problem);
    rest = rest.subarray(size);
  }
  return read;
}

function frame(one: FlatReply | ReplyError): Buffer {
  if (one === null) return Buffer.from('$-1\r\n');
  if (one instanceof ReplyError) return Buffer.from(`-${one.message}\r\n`);
  if (typeof one === 'string') return Buffer.from(`:${one}\r\n`);
  if (!(one instanceof Buffer)) {
    const items = one as readonly (Buffer | null)[];
    return Buffer.concat([Buffer.from(`*${items.length}\r\n`), ...items.map(frame)]);
  }
  return Buffer.concat([Buffer.from(`$${one.length}\r\n`), one, Buffer.from('\r\n')]);
}

/** Messages of version 3 of the protocol, and the values that are read. */
const messages: readonly [it: string, sent: string, read: unknown][] = [
  [
    'changed keys',
    '>2\r\n$10\r\ninvalidate\r\n*2\r\n$1\r\na\r\n$0\r\n\r\n',
    { push: ['invalidate', ['a', '']] },
  ],
  ['all keys', '>2\r\n$10\r\ninvalidate\r\n_\r\n', { push: ['invalidate', null] }],
  ['a map', '%2\r\n$1\r\na\r\n:3\r\n$7\r\nmodules\r\n*1\r\n%1\r\n$1\r\nb\r\n*0\r\n', { reply: null }],
  ['a status', '+OK\r\n', { reply: 'OK' }],
  ['lists without end', '>1\r\n'.repeat(20), { fault: 'a reply that is not RESP' }],
  ['a list of lists without end', '*1\r\n'.repeat(100_000), { fault: 'a reply that is not RESP' }],
  ['a number without digits', '>x\r\n', { fault: 'a reply that is not RESP' }],
];
const shown = (value: unknown): unknown =>
  Array.isArray(value) ? value.map(shown) : Buffer.isBuffer(value) ? value.toString() : value;
for (const [it, sent, read] of messages) {
  test(`a connection that receives messages reads ${it}, in pieces of any size`, () => {
    for (const size of [1, 7, sent.length]) {
      const seen: unknown[] = [];
      const reader = new RespReader(1_000_000, (reply) => seen.push({ reply: shown(reply) }), {
        pushed: (push) => seen.push({ push: shown(push) }),
      });
      for (let at = 0; at < sent.length; at += size) {
        const fault = reader.read(Buffer.from(sent.slice(at, at + size)));
        if (fault !== undefined) {
          seen.push({ fault });
          break;
        }
      }
      expect(seen).toEqual([read]);
    }
  });
}
