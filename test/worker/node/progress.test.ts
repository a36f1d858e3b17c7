import { afterAll, beforeAll, expect, test } from 'vitest';
import { ChunkReader, CLIENT_CHUNKS, UPSTREAM_CHUNKS } from '../../../src/http1/index.ts';
import { HeadReader } from '../../../src/worker/transport/node/head-reader.ts';
import { readProxyPrefix } from '../../../src/worker/transport/node/preface-reader.ts';
import { REPEATED_BYTES, repeatedBytes } from '../../harness/repeated-bytes.ts';
import { StepCounter } from '../../harness/steps.ts';
import { portOf } from './port.ts';

interface Parser {
  readonly name: string;
  readonly file: RegExp;
  /** The bytes in front of the repeated byte. */
  readonly fronts: readonly string[];
  /** Reads all pieces; gives the number of bytes that have to be kept for the reader. */
  read(pieces: readonly Buffer[]): number;
}

const port = portOf();
/** More than a head may have: its first line, its other lines, and the packet that exceeds them. */
const LONGEST_HEAD = port.head.lineBytes + port.head.bytes + 65_536;

const parsers: readonly Parser[] = [
  ...[['a client', CLIENT_CHUNKS] as const, ['an upstream', UPSTREAM_CHUNKS] as const].map(
    ([sender, rules]) => ({
      name: `a chunked body of ${sender}`,
      file: /http1\/chunks\.ts/,
      fronts: ['', '0', '5\r\nhello\r\n', '1;', '20000\r\n', '0\r\n', '0\r\nX: ', '1\r\nx\r'],
      read(pieces: readonly Buffer[]) {
        const body = new ChunkReader(rules);
        for (const piece of pieces) body.read(piece, 0, () => undefined);
        return 0;
      },
    }),
  ),
  {
    name: 'a request head',
    file: /(head-reader|head-scan|http1\/head)\.ts/,
    fronts: [
      'GET',
      'GET ',
      'GET /',
      'GET / HTTP/1.1\r\n',
      'GET / HTTP/1.1\r\nHost: a\r\nX',
      'GET / HTTP/1.1\r\nX:',
    ],
    read(pieces) {
      const reader = new HeadReader(port);
      let kept = Buffer.alloc(0);
      for (const piece of pieces) {
        kept = Buffer.concat([kept, piece]);
        if (reader.read(kept)) return 0;
      }
      return kept.length;
    },
  },
  {
    name: 'a head of the PROXY protocol',
    file: /preface-reader\.ts/,
    fronts: [
      '',
      'PROXY ',
      'PROXY TCP4 ',
      'PROXY TCP4 1.2.3.4 ',
      '\r\n\r\n\0\r\nQUIT\n',
      '\r\n\r\n\0\r\nQUIT\n!\x11',
    ],
    read(pieces) {
      let kept = Buffer.alloc(0);
      for (const piece of pieces) {
        kept = Buffer.concat([kept, piece]);
        if (readProxyPrefix(kept) !== 'incomplete') return 0;
      }
      return kept.length;
    },
  },
];

const counters = new Map<string, StepCounter>();
beforeAll(async () => {
  for (const { name, file } of parsers) counters.set(name, await StepCounter.open(file));
});
afterAll(() => {
  for (const counter of counters.values()) counter.close();
});

const cases = parsers.flatMap((parser) => parser.fronts.map((front) => ({ ...parser, front })));

test.each(cases)('$name: $front and any byte, many times, ends', async ({ name, front, read }) => {
  let kept = 0;
  const steps = await counters.get(name)!.count(() => {
    for (const pieces of repeatedBytes(front)) kept = Math.max(kept, read(pieces));
  });
  // A line may be as short as one byte.
  expect(steps).toBeLessThan(1.1 * REPEATED_BYTES);
  expect(kept).toBeLessThanOrEqual(LONGEST_HEAD);
});
