import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { systemFailure, systemReason } from '../../src/system/index.ts';

const cases = [
  { it: 'a file that is not there', path: '/nowhere', says: '2: No such file or directory' },
  { it: 'a directory', path: '/', call: 'read', says: '21: Is a directory' },
  { it: 'a file taken for a directory', path: '/etc/passwd/x', says: '20: Not a directory' },
  { it: 'a name that is too long', path: `/${'a'.repeat(300)}`, says: '36: File name too long' },
];

for (const { it, path, call = 'open', says } of cases) {
  test(`the log names ${it} as nginx does`, () => {
    let said = '';
    try {
      readFileSync(path);
    } catch (error) {
      said = systemFailure(call, path, error);
    }
    expect(said).toBe(`${call}() "${path}" failed (${says})`);
  });
}

test('an error with only a code has the message of the system', () => {
  const hangUp = Object.assign(new Error('socket disconnected'), { code: 'ECONNRESET' });
  expect(systemReason(hangUp)).toBe('104: Connection reset by peer');
});

test("an error of libuv has libuv's message", () => {
  const unknown = Object.assign(new Error('getaddrinfo ENOTFOUND a'), { code: 'ENOTFOUND', errno: -3008 });
  expect(systemReason(unknown)).toBe('getaddrinfo ENOTFOUND a');
});

test('an error that comes from no system call has its own message', () => {
  expect(systemFailure('open', '/a', new Error('too early'))).toBe('open() "/a" failed (too early)');
});
