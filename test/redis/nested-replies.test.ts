import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Reply, ReplyError, RespReader } from '../../src/redis/resp.ts';

const bytes = fc.uint8Array({ maxLength: 40 }).map((some) => Buffer.from(some));
const { reply } = fc.letrec<{ reply: Reply | ReplyError; list: Reply }>((tie) => ({
  reply: fc.oneof(
    { maxDepth: 5 },
    bytes,
    fc.constant(null),
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
    fc.stringMatching(/^[ -~]{0,20}$/).map((message) => new ReplyError(message)),
    tie('list'),
  ),
  list: fc.array(tie('reply'), { maxLength: 5 }),
}));

function frame(one: Reply | ReplyError): Buffer {
  if (one === null) return Buffer.from('$-1\r\n');
  if (one instanceof ReplyError) return Buffer.from(`-${one.message}\r\n`);
  if (typeof one === 'string') return Buffer.from(`:${one}\r\n`);
  if (Buffer.isBuffer(one))
    return Buffer.concat([Buffer.from(`$${one.length}\r\n`), one, Buffer.from('\r\n')]);
  return Buffer.concat([Buffer.from(`*${one.length}\r\n`), ...one.map(frame)]);
}

/** The replies in bytes that arrive in pieces of these sizes, the rest in one piece; the fault, if there is one. */
function read(
  sent: Buffer,
  sizes: readonly number[],
  mostBytes = 1_000_000,
): (Reply | ReplyError | { fault: string })[] {
  const found: (Reply | ReplyError | { fault: string })[] = [];
  const reader = new RespReader(mostBytes, (one) => found.push(one), { nested: true });
  let rest = sent;
  for (const size of [...sizes, sent.length]) {
    const fault = reader.read(rest.subarray(0, size));
    if (fault !== undefined) return [...found, { fault }];
    rest = rest.subarray(size);
  }
  return found;
}

test('nested replies are read back in pieces of any size', () => {
  const property = fc.property(fc.array(reply), fc.array(fc.integer({ min: 1, max: 30 })), (sent, sizes) => {
    expect(read(Buffer.concat(sent.map(frame)), sizes)).toEqual(sent);
  });
  fc.assert(property, { numRuns: 1_000 });
});

const faults: readonly (readonly [it: string, sent: string, fault: string])[] = [
  ['lists that do not end', '*1\r\n'.repeat(9), 'a reply that is not RESP'],
  ['a list of no RESP', '*2\r\n:1\r\n!\r\n', 'a reply that is not RESP'],
  ['a list without a length', '*x\r\n', 'a reply that is not RESP'],
  ['a message', '>1\r\n:1\r\n', 'a reply that is not RESP'],
  ['a long string', '*1\r\n$1001\r\n', 'a reply exceeds 1000 bytes'],
  ['many strings', `*9\r\n${`*1\r\n$300\r\n${'x'.repeat(300)}\r\n`.repeat(4)}`, 'a reply exceeds 1000 bytes'],
  ['many numbers', `*1000000000\r\n${':1\r\n'.repeat(300)}`, 'a reply exceeds 1000 bytes'],
];
test.each(faults)(
  'a connection that reads nested replies refuses %s, in pieces of any size',
  (_, sent, fault) => {
    for (const size of [1, 7, sent.length]) {
      const sizes = Array<number>(Math.ceil(sent.length / size)).fill(size);
      expect(read(Buffer.from(`:1\r\n${sent}`), sizes, 1_000)).toEqual(['1', { fault }]);
    }
  },
);

test('a long reply in many pieces is not decoded again for each of them', () => {
  const item = Buffer.from('*1\r\n:1\r\n');
  let items = 0;
  const reader = new RespReader(16_777_216, (one) => (items = (one as readonly unknown[]).length), {
    nested: true,
  });
  expect(reader.read(Buffer.from('*300000\r\n'))).toBeUndefined();
  const chunk = Buffer.concat(Array<Buffer>(100).fill(item));
  for (let nth = 0; nth < 3_000; nth++) expect(reader.read(chunk)).toBeUndefined();
  expect(items).toBe(300_000);
});
