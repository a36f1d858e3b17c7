import { expect, test } from 'vitest';
import { CHUNKED, Framing, type FramingFault, NO_LENGTH } from '../../src/http1/index.ts';
import { readHead } from '../../src/client/index.ts';
import { HeadScan } from '../../src/worker/transport/head-scan.ts';
import { HeadReader } from '../../src/worker/transport/node/head-reader.ts';
import { portOf } from '../worker/node/port.ts';
import { EVERY_BYTE } from './cuts.ts';

type Fields = readonly (readonly [name: 'Content-Length' | 'Transfer-Encoding', value: string])[];

/** Where the body of a message ends, or why that cannot be decided. */
interface Case {
  readonly it: string;
  readonly fields: Fields;
  readonly says: number | FramingFault;
}

const length = (value: string) => ['Content-Length', value] as const;
const encoding = (value: string) => ['Transfer-Encoding', value] as const;

const cases: readonly Case[] = [
  { it: 'no header', fields: [], says: NO_LENGTH },
  { it: 'a length', fields: [length('5')], says: 5 },
  { it: 'a length of nothing', fields: [length('0')], says: 0 },
  { it: 'a length with zeros in front', fields: [length('0005')], says: 5 },
  { it: 'chunks', fields: [encoding('chunked')], says: CHUNKED },
  { it: 'chunks in other letters', fields: [encoding('cHUNKED')], says: CHUNKED },
  { it: 'two lengths', fields: [length('2'), length('3')], says: 'lengths' },
  { it: 'the same length twice', fields: [length('2'), length('2')], says: 'lengths' },
  { it: 'a list of lengths', fields: [length('2, 2')], says: 'length' },
  { it: 'an empty length', fields: [length('')], says: 'length' },
  { it: 'a negative length', fields: [length('-2')], says: 'length' },
  { it: 'a length with a sign', fields: [length('+2')], says: 'length' },
  { it: 'a hexadecimal length', fields: [length('0x2')], says: 'length' },
  { it: 'a length with a fraction', fields: [length('2.0')], says: 'length' },
  { it: 'a length with an exponent', fields: [length('2e1')], says: 'length' },
  { it: 'a length in words', fields: [length('two')], says: 'length' },
  { it: 'a length and chunks', fields: [length('2'), encoding('chunked')], says: 'both' },
  { it: 'chunks and a length', fields: [encoding('chunked'), length('2')], says: 'both' },
  { it: 'chunks and an empty length', fields: [encoding('chunked'), length('')], says: 'both' },
  { it: 'chunks twice', fields: [encoding('chunked'), encoding('chunked')], says: 'encodings' },
  { it: 'two encodings', fields: [encoding('chunked'), encoding('identity')], says: 'encodings' },
  { it: 'an empty encoding', fields: [encoding('')], says: 'encoding' },
  { it: 'another encoding', fields: [encoding('gzip')], says: 'encoding' },
  { it: 'no encoding', fields: [encoding('identity')], says: 'encoding' },
  { it: 'chunks of another encoding', fields: [encoding('gzip, chunked')], says: 'encoding' },
  { it: 'chunks in chunks', fields: [encoding('chunked, chunked')], says: 'encoding' },
  { it: 'chunks with a parameter', fields: [encoding('chunked;q=1')], says: 'encoding' },
  { it: 'something like chunks', fields: [encoding('xchunked')], says: 'encoding' },
  { it: 'something like chunks behind', fields: [encoding('chunkedx')], says: 'encoding' },
  // `toLowerCase` makes a k of the Kelvin sign.
  { it: 'chunks with the letter of another script', fields: [encoding('chun\u212Aed')], says: 'encoding' },
  ...Array.from({ length: 16 }, (_, index): Case => {
    const digits = '9'.repeat(index + 1);
    return {
      it: `a length of ${digits.length} digits`,
      fields: [length(digits)],
      says: index < 15 ? Number(digits) : 'length',
    };
  }),
];

function framingOf(fields: Fields): Framing {
  const framing = new Framing();
  for (const [name, value] of fields) {
    if (name === 'Content-Length') framing.takeLength(value);
    else framing.takeEncoding(value);
  }
  return framing;
}

/** The status that refuses a request, or the length of its body. */
type Judged = { readonly refused: number } | { readonly bodyBytes: number };

/** The framing as the code for uWebSockets.js reads it. */
function byScan(fields: Fields): Judged {
  const scan = new HeadScan(portOf());
  scan.start();
  scan.visit('host', 'a');
  for (const [name, value] of fields) scan.visit(name.toLowerCase(), value);
  const refused = scan.refusal('POST');
  return refused ? { refused } : { bodyBytes: scan.contentLength };
}

const linesOf = (fields: Fields): string => fields.map(([name, value]) => `${name}: ${value}\r\n`).join('');

/** The framing as the node engine reads it. */
function byReader(fields: Fields, version = '1.1'): Judged & { complaint?: string } {
  const head = new HeadReader(portOf()).read(
    Buffer.from(`POST / HTTP/${version}\r\nHost: a\r\n${linesOf(fields)}\r\n`, 'utf8'),
  );
  if (!head) throw new Error('the head is not complete');
  const { refusal, complaint, facts } = head;
  return refusal ? { refused: refusal, complaint } : { bodyBytes: facts.contentLength };
}

for (const { it, fields, says } of cases) {
  test(`a message with ${it} is framed or refused in the same way by all readers`, () => {
    const framing = framingOf(fields);
    expect(framing.fault ?? framing.bodyBytes).toBe(says);
    if (typeof says === 'number') {
      const judged = { bodyBytes: says === NO_LENGTH ? 0 : says };
      expect(byScan(fields)).toEqual(judged);
      expect(byReader(fields)).toEqual(judged);
      expect(readHead(`HTTP/1.1 200 OK\r\n${linesOf(fields)}\r\n`, { method: 'GET' }).bodyBytes).toBe(says);
    } else {
      const refused = says === 'encoding' ? 501 : 400;
      expect(byScan(fields)).toEqual({ refused });
      expect(byReader(fields)).toMatchObject({ refused });
      const text = Buffer.from(`HTTP/1.1 200 OK\r\n${linesOf(fields)}\r\n`).toString('latin1');
      expect(() => readHead(text, { method: 'GET' })).toThrow(/^upstream sent /);
    }
  });
}

test('every byte before, in and behind a length or an encoding makes it another one', () => {
  for (const byte of EVERY_BYTE) {
    for (const value of [`${byte}12`, `1${byte}2`, `12${byte}`]) {
      const { fault } = framingOf([length(value)]);
      expect(fault, JSON.stringify(value)).toBe(/[0-9]/.test(byte) ? undefined : 'length');
    }
    for (const value of [`${byte}chunked`, `chun${byte}ked`, `chunked${byte}`]) {
      expect(framingOf([encoding(value)]).fault, JSON.stringify(value)).toBe('encoding');
    }
  }
});

test('a reader that is reset has forgotten the previous message', () => {
  const framing = framingOf([length('2'), encoding('chunked')]);
  framing.start();
  expect(framing.fault ?? framing.bodyBytes).toBe(NO_LENGTH);
  framing.takeLength('3');
  expect(framing.fault ?? framing.bodyBytes).toBe(3);
});

test('a client of HTTP/1.0 may send no chunks, an upstream may', () => {
  const reader = byReader([encoding('chunked')], '1.0');
  const complaint =
    'client sent HTTP/1.0 request with "Transfer-Encoding" header while reading client request headers';
  expect(reader).toEqual({ refused: 400, complaint });
  expect(byReader([encoding('gzip')], '1.0')).toMatchObject({ refused: 501 });
  expect(byReader([encoding('chunked'), length('1')], '1.0')).toMatchObject({ refused: 400 });
  const head = readHead('HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', { method: 'GET' });
  expect(head).toMatchObject({ bodyBytes: CHUNKED, keepsAlive: false });
});
