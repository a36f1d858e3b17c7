import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  ChunkReader,
  chunkStart,
  CHUNK_END,
  CLIENT_CHUNKS,
  lastChunk,
  UPSTREAM_CHUNKS,
} from '../../src/http1/index.ts';
import { cutsOf, EVERY_BYTE } from './cuts.ts';

const SENDERS = { client: CLIENT_CHUNKS, upstream: UPSTREAM_CHUNKS } as const;
type Sender = keyof typeof SENDERS;

/** The result of a reader for a body: its content and what lies behind it, or that it is broken or not complete. */
type Outcome =
  | { readonly content: string; readonly rest: string; readonly trailers?: readonly string[] }
  | 'broken'
  | 'more';

function read(sender: Sender, pieces: readonly Buffer[]): Outcome {
  const reader = new ChunkReader(SENDERS[sender]);
  let content = '';
  let rest = '';
  for (const piece of pieces) {
    const at = reader.complete ? 0 : reader.read(piece, 0, (bytes) => (content += bytes.toString('latin1')));
    if (reader.broken) return 'broken';
    rest += piece.toString('latin1', at);
  }
  if (!reader.complete) return 'more';
  return { content, rest, ...(reader.trailers && { trailers: reader.trailers }) };
}

interface Case {
  readonly it: string;
  readonly text: string;
  readonly client: Outcome;
  readonly upstream: Outcome;
}

const same = (it: string, text: string, outcome: Outcome): Case => ({
  it,
  text,
  client: outcome,
  upstream: outcome,
});
const HELLO: Outcome = { content: 'hello', rest: 'next' };

const cases: readonly Case[] = [
  same('one chunk', '5\r\nhello\r\n0\r\n\r\nnext', HELLO),
  same('several chunks', '2\r\nhe\r\n003\r\nllo\r\n00\r\n\r\nnext', HELLO),
  same('no content', '0\r\n\r\n', { content: '', rest: '' }),
  same('sizes in either case', `a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n`, {
    content: '0123456789'.repeat(2),
    rest: '',
  }),
  same('extensions', '5;x="y;z"\r\nhello\r\n0;\r\n\r\nnext', HELLO),
  same('blanks behind a size', '5 \t\r\nhello\r\n0\t;x\r\n\r\nnext', HELLO),
  same('content that looks like its end', '7\r\n\r\n0\r\n\r\n\r\n0\r\n\r\nnext', {
    content: '\r\n0\r\n\r\n',
    rest: 'next',
  }),
  same('an end that did not come yet', '5\r\nhello\r\n0\r\n', 'more'),
  same('a size that is no number', 'zz\r\nx\r\n', 'broken'),
  same('a size with a sign', '+5\r\nhello\r\n', 'broken'),
  same('a size with a prefix', '0x5\r\nhello\r\n', 'broken'),
  same('a blank before a size', ' 5\r\nhello\r\n', 'broken'),
  same('a blank within a size', '1 0\r\nhello\r\n', 'broken'),
  same('no size', '\r\nhello\r\n', 'broken'),
  same('no size but an extension', ';x\r\nhello\r\n', 'broken'),
  same('a size behind a bare line feed', '5\nhello\r\n', 'broken'),
  same('content behind which a bare line feed stands', '5\r\nhello\n0\r\n\r\n', 'broken'),
  same('a trailer with a bare line feed', '0\r\nX: 1\n\r\n', 'broken'),
  same('an end with a bare line feed', '0\r\n\n', 'broken'),
  same('a bare CR in an extension', '5;a\rb\r\nhello\r\n', 'broken'),
  same('two CRs behind a size', '5\r\r\nhello\r\n', 'broken'),
  same('a chunk longer than its size', '3\r\nhello\r\n', 'broken'),
  same('a chunk without its line end', '5\r\nhello5\r\n', 'broken'),
  same('a trailer without a colon', '0\r\nbroken\r\n\r\n', 'broken'),
  same('a trailer without a name', '0\r\n: x\r\n\r\n', 'broken'),
  {
    it: 'trailers',
    text: '0\r\nX-A:\t1 \r\nX-B: \xe9\r\n\r\nnext',
    client: { content: '', rest: 'next' },
    upstream: { content: '', rest: 'next', trailers: ['X-A', '1', 'X-B', '\xe9'] },
  },
  {
    it: 'a control byte in an extension',
    text: '5;\0\r\nhello\r\n0\r\n\r\nnext',
    client: 'broken',
    upstream: HELLO,
  },
  {
    it: 'a trailer whose name is no token',
    text: '0\r\nX A: 1\r\n\r\n',
    client: 'broken',
    upstream: { content: '', rest: '', trailers: ['X A', '1'] },
  },
];

for (const { it, text, ...expected } of cases) {
  for (const sender of ['client', 'upstream'] as const) {
    test(`a chunked body of a ${sender} with ${it} gives the same result wherever it is cut`, () => {
      for (const pieces of cutsOf(text)) expect(read(sender, pieces)).toEqual(expected[sender]);
    });
  }
}

const LIMITS = [
  {
    it: 'a line',
    client: 1024,
    upstream: 4095,
    make: (bytes: number) => `5;${'a'.repeat(bytes - 2)}\r\nhello\r\n0\r\n\r\n`,
  },
  {
    it: 'all trailers',
    client: 8192,
    upstream: 16_384,
    make: (bytes: number) =>
      `0\r\n${`X: ${'a'.repeat(509)}\r\n`.repeat(bytes / 512 - 1)}X: ${'a'.repeat(509 + (bytes % 512))}\r\n\r\n`,
  },
] as const;

for (const { it, make, ...limits } of LIMITS) {
  for (const sender of ['client', 'upstream'] as const) {
    test(`${it} of a ${sender} may have ${limits[sender]} bytes and no more, wherever they are cut`, () => {
      const outcomes = (bytes: number): unknown[] =>
        [...cutsOf(make(bytes))]
          .map((pieces) => read(sender, pieces))
          .map((outcome) => (typeof outcome === 'string' ? outcome : 'read'));
      expect(new Set(outcomes(limits[sender]))).toEqual(new Set(['read']));
      expect(new Set(outcomes(limits[sender] + 1))).toEqual(new Set(['broken']));
    });
  }
}

test.each([
  ['client', 12],
  ['upstream', 13],
] as const)('a size of a %s has up to %i digits, leading zeros among them', (sender, most) => {
  for (let digits = 1; digits <= 16; digits++) {
    const expected = digits <= most ? 'more' : 'broken';
    expect(read(sender, [Buffer.from(`${'f'.repeat(digits)}\r\n`)]), String(digits)).toBe(expected);
    const padded = read(sender, [Buffer.from(`${'5'.padStart(digits, '0')}\r\nhello\r\n0\r\n\r\n`)]);
    expect(padded, String(digits)).toEqual(digits <= most ? { content: 'hello', rest: '' } : 'broken');
  }
});

const HEX = /[0-9a-fA-F]/;
const TEXT = /[\t\x20-\x7e\x80-\xff]/;
const TOKEN = /[!#$%&'*+.^_`|~0-9A-Za-z-]/;

/** One byte at an edge of the format, and which of them are accepted there. */
const EDGES: readonly { at: string; make: (byte: string) => string; client: RegExp; upstream: RegExp }[] = [
  { at: 'a size', make: (byte) => `${byte}`, client: HEX, upstream: HEX },
  {
    at: 'the place behind a size',
    make: (byte) => `0${byte}`,
    client: /[0-9a-fA-F \t;]/,
    upstream: /[0-9a-fA-F \t;]/,
  },
  { at: 'the place behind blanks', make: (byte) => `0 ${byte}`, client: /[ \t;]/, upstream: /[ \t;]/ },
  { at: 'an extension', make: (byte) => `0;${byte}`, client: TEXT, upstream: /[^\r\n]/ },
  { at: 'the first byte of a trailer', make: (byte) => `0\r\n${byte}a:`, client: TOKEN, upstream: /[^:\n]/ },
  { at: 'the place before a colon', make: (byte) => `0\r\na${byte}:`, client: TOKEN, upstream: /[^\n]/ },
  { at: 'the value of a trailer', make: (byte) => `0\r\na:${byte}`, client: TEXT, upstream: /[^\n]/ },
];

for (const { at, make, ...taken } of EDGES) {
  for (const sender of ['client', 'upstream'] as const) {
    test(`every byte as ${at} of a ${sender} is accepted or refused by the rules`, () => {
      for (const byte of EVERY_BYTE) {
        // A superfluous colon or digit has another message than a byte that is never allowed there.
        const isTaken =
          (taken[sender] as RegExp).test(byte) || (at === 'the place before a colon' && byte === ':');
        for (const pieces of cutsOf(`${make(byte)}\r\n`)) {
          expect(read(sender, pieces) !== 'broken', JSON.stringify(byte)).toBe(isTaken);
        }
      }
    });
  }
}

test.each(['client', 'upstream'] as const)(
  'behind the content of a %s nothing but CRLF is taken',
  (sender) => {
    for (const byte of EVERY_BYTE) {
      for (const [text, expected] of [
        [`1\r\nx${byte}\n0\r\n\r\n`, '\r'],
        [`1\r\nx\r${byte}0\r\n\r\n`, '\n'],
      ] as const) {
        for (const pieces of cutsOf(text)) {
          expect(read(sender, pieces) !== 'broken', JSON.stringify(text)).toBe(byte === expected);
        }
      }
    }
  },
);

test('a body written in chunks is read back unchanged, however it is cut', () => {
  const trailers = fc.array(fc.stringMatching(/^[a-z]{1,9}$/), { maxLength: 4 });
  fc.assert(
    fc.property(
      fc.array(fc.string({ minLength: 1, maxLength: 40, unit: 'binary-ascii' }), { maxLength: 5 }),
      fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 200 }),
      trailers.filter((fields) => fields.length % 2 === 0),
      (chunks, cuts, fields) => {
        const written = chunks.map((chunk) => chunkStart(chunk.length) + chunk + CHUNK_END).join('');
        const bytes = Buffer.from(`${written}${lastChunk(fields)}next`, 'latin1');
        const pieces: Buffer[] = [];
        let at = 0;
        for (const size of [...cuts, Infinity]) pieces.push(bytes.subarray(at, (at += size)));
        const content = chunks.join('');
        expect(read('client', pieces)).toEqual({ content, rest: 'next' });
        const expected = { content, rest: 'next', ...(fields.length > 0 && { trailers: fields }) };
        expect(read('upstream', pieces)).toEqual(expected);
      },
    ),
  );
});
