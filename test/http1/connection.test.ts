import { expect, test } from 'vitest';
import { connectionOptions, joinConnection, keepsAlive } from '../../src/http1/index.ts';
import { EVERY_BYTE } from './cuts.ts';

/** Whether a connection stays open behind a message of HTTP/1.1 and of HTTP/1.0. */
const cases: readonly (readonly [lines: readonly string[], http11: boolean, http10: boolean])[] = [
  [[], true, false],
  [[''], true, false],
  [['close'], false, false],
  [['Close'], false, false],
  [['keep-alive'], true, true],
  [['Keep-Alive'], true, true],
  [['upgrade'], true, false],
  [['x, close'], false, false],
  [['x ,\tclose\t'], false, false],
  [['keep-alive, close'], false, false],
  [['close, keep-alive'], false, false],
  [['close', 'keep-alive'], false, false],
  [['keep-alive', 'close'], false, false],
  [['upgrade, keep-alive'], true, true],
  [['closed'], true, false],
  [['not-close'], true, false],
  [['keep-alive-x'], true, false],
  [['"close"'], true, false],
  [['close;x'], true, false],
  [[',,'], true, false],
  [[',close,'], false, false],
];

test.each(cases)(
  'a message with Connection %j keeps its connection: 1.1 %j, 1.0 %j',
  (lines, http11, http10) => {
    const joined = lines.reduce(joinConnection, '');
    expect([keepsAlive(joined, true), keepsAlive(joined, false)]).toEqual([http11, http10]);
  },
);

test('every byte beside an option makes it another option, except blanks and commas', () => {
  for (const byte of EVERY_BYTE) {
    const isPlain = [' ', '\t', ','].includes(byte);
    for (const side of [`${byte}close`, `close${byte}`]) {
      expect(keepsAlive(side, true), JSON.stringify(side)).toBe(!isPlain);
    }
    for (const side of [`${byte}keep-alive`, `keep-alive${byte}`]) {
      expect(keepsAlive(side, false), JSON.stringify(side)).toBe(isPlain);
    }
    expect(connectionOptions(`X-Hop${byte}`).includes('x-hop'), JSON.stringify(byte)).toBe(isPlain);
  }
});

test('the options of a Connection are given in lower case, without empty ones', () => {
  expect(connectionOptions(' close,X-A ,, \t,x-b')).toEqual(['close', 'x-a', 'x-b']);
  expect(connectionOptions('')).toEqual([]);
});
