import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { RedisClient, type Reply } from '../../src/redis/index.ts';
import { ReplyFrames } from '../../src/redis/reply-frames.ts';

const MAX_REPLY_BYTES = 1_000;
const bytes = fc.uint8Array({ maxLength: 40 }).map((some) => Buffer.from(some));
const integers = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String);
const { reply } = fc.letrec<{ reply: Reply | Error; list: Reply }>((tie) => ({
  reply: fc.oneof(
    { maxDepth: 5 },
    bytes,
    fc.constant(null),
    integers,
    fc.stringMatching(/^[ -~]{1,20}$/).map((message) => new Error(message)),
    tie('list'),
  ),
  list: fc.array(tie('reply'), { maxLength: 5 }),
}));

function frame(one: Reply | Error): Buffer {
  if (one === null) return Buffer.from('$-1\r\n');
  if (one instanceof Error) return Buffer.from(`-${one.message}\r\n`);
  if (typeof one === 'string') return Buffer.from(`:${one}\r\n`);
  if (Buffer.isBuffer(one))
    return Buffer.concat([Buffer.from(`$${one.length}\r\n`), one, Buffer.from('\r\n')]);
  return Buffer.concat([Buffer.from(`*${one.length}\r\n`), ...one.map(frame)]);
}

/** Errors by their messages alone. */
const shown = (one: unknown): unknown =>
  one instanceof Error ? { refused: one.message } : Array.isArray(one) ? one.map(shown) : one;

/** What the server sends to the next command, in pieces. */
let pieces: readonly Buffer[] = [];
let server: ReturnType<typeof createServer>;
const open = new Set<Socket>();

async function answer(socket: Socket, asked: Buffer): Promise<void> {
  if (asked.includes('ping')) return void socket.write('+PONG\r\n');
  for (const piece of pieces) await new Promise((sent) => socket.write(piece, sent));
}

beforeAll(async () => {
  server = createServer((socket) => {
    open.add(socket.setNoDelay(true));
    socket.on('data', (asked) => void answer(socket, asked)).on('error', () => undefined);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterAll(() => {
  for (const socket of open) socket.destroy();
  server.close();
});

/** A client of the server, and why it has lost its connections. */
async function connected(): Promise<{ client: RedisClient; told: string[] }> {
  const told: string[] = [];
  const { port } = server.address() as AddressInfo;
  const options = { connectTimeoutMs: 5_000, maxReplyBytes: MAX_REPLY_BYTES };
  const client = new RedisClient({ kind: 'inet', host: '127.0.0.1', port }, options, {
    down: (reason) => void told.push(reason),
  });
  await client.ready();
  return { client, told };
}

test('replies of any depth are read as they were sent, in pieces of any size', async () => {
  const { client, told } = await connected();
  const property = fc.asyncProperty(reply, fc.array(fc.integer({ min: 1, max: 30 })), async (sent, sizes) => {
    const sentBytes = frame(sent);
    fc.pre(sentBytes.length <= MAX_REPLY_BYTES - 100);
    let at = 0;
    pieces = [...sizes, sentBytes.length].map((size) => sentBytes.subarray(at, (at += size)));
    const read = await client.ask('get', ['x']).catch((error: unknown) => error as Error);
    expect(shown(read)).toEqual(shown(sent));
  });
  await fc.assert(property, { numRuns: 300 });
  client.close();
  expect(told).toEqual([]);
});

const malformed = 'a reply that is not RESP';
const tooLarge = `a reply exceeds ${MAX_REPLY_BYTES} bytes`;
const faults: readonly (readonly [it: string, sent: string, fault: string])[] = [
  ['lists that do not end', '*1\r\n'.repeat(9), malformed],
  ['a list of no RESP', '*2\r\n:1\r\n!\r\n', malformed],
  ['a list without a length', '*x\r\n', malformed],
  ['a string without a length', '$\r\n', malformed],
  ['a line that does not end as one', '+OK\r*33000000\r\n', malformed],
  ['a line that does not end', '+'.padEnd(5_000, 'x'), malformed],
  ['a length that is negative', '$-2\r\n', malformed],
  ['a message', '>1\r\n:1\r\n', malformed],
  ['a long string', '*1\r\n$1001\r\n', tooLarge],
  ['a long list', '*33000000\r\n', tooLarge],
  ['long lists in each other', '*200\r\n*200\r\n', tooLarge],
  ['many strings', `*9\r\n${`*1\r\n$300\r\n${'x'.repeat(300)}\r\n`.repeat(4)}`, tooLarge],
  ['many numbers', `*1000000000\r\n${':1\r\n'.repeat(300)}`, tooLarge],
  ['a second reply', ':1\r\n$-1\r\n', 'a reply that nobody asked for'],
];

test.each(faults)('a client leaves a server that sends %s', async (_, sent, fault) => {
  const { client, told } = await connected();
  pieces = [Buffer.from(sent)];
  await expect(client.ask('get', ['x'])).rejects.toThrow(fault);
  await expect(client.ask('get', ['x'])).rejects.toThrow(fault);
  expect(told).toEqual([fault]);
  client.close();
});

const WHOLE = ':1\r\n*1\r\n*2\r\n$-1\r\n$2\r\n\r\n\r\n';

test.each(faults.slice(0, -1))(
  'the ends of replies are known, and %s refused, in pieces of any size',
  (_, sent, fault) => {
    for (const size of [1, 7, sent.length]) {
      const frames = new ReplyFrames(MAX_REPLY_BYTES);
      const follow = (text: string): (number | string)[] =>
        Array.from({ length: Math.ceil(text.length / size) }, (_piece, nth) =>
          frames.follow(Buffer.from(text.slice(nth * size, (nth + 1) * size))),
        );
      expect(follow(WHOLE).reduce((sum: number, ended) => sum + Number(ended), 0)).toBe(2);
      expect(frames.isWithinReply).toBe(false);
      expect(follow(sent).find((ended) => ended !== 0)).toBe(fault);
    }
  },
);
