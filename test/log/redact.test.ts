import { expect, test } from 'vitest';
import { isSecretParameter, redactQuery } from '../../src/log/redact.ts';

test.each([
  ['GET /a?key=abc&n=1 HTTP/1.1', 'GET /a?key=***&n=1 HTTP/1.1'],
  ['GET /a?n=1&JWT=e.y.J HTTP/1.1', 'GET /a?n=1&JWT=*** HTTP/1.1'],
  ['/a?access_token=x&refresh_token=y&token=z', '/a?access_token=***&refresh_token=***&token=***'],
  ['apikey=x&api_key=y', 'apikey=***&api_key=***'],
  ['password=a%26b;secret=c', 'password=***;secret=***'],
  ['http://h/?client_secret=s#f', 'http://h/?client_secret=***#f'],
  ['/a?monkey=1&keys=2&tokenize=3&x=key', '/a?monkey=1&keys=2&tokenize=3&x=key'],
  ['/key=abc', '/key=abc'],
  ['key=', 'key='],
  ['/a', '/a'],
])('%j is logged as %j', (text, masked) => {
  expect(redactQuery(text)).toBe(masked);
});

test.each([
  ['key', true],
  ['Api_Key', true],
  ['access_token', true],
  ['keys', false],
  ['n', false],
])('the parameter %j holds a secret: %j', (name, secret) => {
  expect(isSecretParameter(name)).toBe(secret);
});
