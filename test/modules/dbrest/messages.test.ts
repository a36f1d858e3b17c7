import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { fieldsOf, Messages } from '../../../src/modules/dbrest/session/extended-query.ts';

/** The bytes that are sent, one character per byte. */
function sent(write: (messages: Messages) => void): string {
  const messages = new Messages();
  write(messages);
  const stream = new PassThrough();
  messages.sendTo(stream);
  return (stream.read() as Buffer).toString('latin1');
}

// Lengths count themselves but not the letter in front (PostgreSQL documentation, "Message Formats").
const cases: [it: string, write: (messages: Messages) => void, bytes: string][] = [
  ['Sync', (m) => m.sync(), 'S\0\0\0\x04'],
  ['Close', (m) => m.close('gw1'), 'C\0\0\0\x09Sgw1\0'],
  ['Describe', (m) => m.describe(), 'D\0\0\0\x06P\0'],
  ['Execute', (m) => m.execute(), 'E\0\0\0\x09\0\0\0\0\0'],
  ['Parse', (m) => m.parse('gw1', 'select 1'), 'P\0\0\0\x13gw1\0select 1\0\0\0'],
  ['Parse of text beyond ASCII', (m) => m.parse('a', 'ü€'), 'P\0\0\0\x0ea\0\xc3\xbc\xe2\x82\xac\0\0\0'],
  ['Bind of nothing', (m) => m.bind('gw1', fieldsOf([])), 'B\0\0\0\x0f\0gw1\0\0\0\0\0\0\0'],
  [
    'Bind of texts and null',
    (m) => m.bind('a', fieldsOf(['x', '', null, 'ü\ud800'])),
    'B\0\0\0\x23\0a\0\0\0\0\x04\0\0\0\x01x\0\0\0\0\xff\xff\xff\xff\0\0\0\x05\xc3\xbc\xef\xbf\xbd\0\0',
  ],
  [
    'Bind of bytes, which name the formats of all',
    (m) => m.bind('a', fieldsOf(['x', Buffer.from('\xff\0', 'latin1'), null])),
    'B\0\0\0\x22\0a\0\0\x03\0\0\0\x01\0\0\0\x03\0\0\0\x01x\0\0\0\x02\xff\0\xff\xff\xff\xff\0\0',
  ],
];
test.each(cases)('%s is written as the protocol requires', (_, write, bytes) => {
  expect(sent(write)).toBe(bytes);
});

test('bytes in between keep their place', () => {
  const written = sent((messages) => {
    messages.bind('a', fieldsOf([Buffer.from('one')]));
    messages.bind('b', fieldsOf([Buffer.from('two')]));
    messages.sync();
  });
  expect(written.replaceAll('\0', '|').replaceAll('\x04', '4')).toMatch(
    /^B.*\|a\|.*one\|\|B.*\|b\|.*two\|\|S\|\|\|4$/s,
  );
});

test('bytes in several pieces of any length are one value', () => {
  const pieces = [3, 5_000, 4_096, 0, 4_097].map((length, i) => Buffer.alloc(length, String(i)));
  const apart = sent((messages) => messages.bind('a', fieldsOf(['x', pieces, 'y'])));
  expect(apart).toBe(sent((messages) => messages.bind('a', fieldsOf(['x', Buffer.concat(pieces), 'y']))));
});

test('a long text has its length in all four bytes', () => {
  expect(sent((messages) => messages.bind('a', fieldsOf(['x'.repeat(0x01020304)])))).toContain(
    '\x01\x02\x03\x04xxx',
  );
});
