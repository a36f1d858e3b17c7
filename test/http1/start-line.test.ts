import { expect, test } from 'vitest';
import {
  mayBeRequestLine,
  readRequestLine,
  readStatusLine,
  requestLine,
  responseLine,
} from '../../src/http1/index.ts';
import { EVERY_BYTE } from './cuts.ts';

const requests: readonly (readonly [line: string, says: string | number])[] = [
  ['GET / HTTP/1.1', 'GET / 1.1'],
  ['GET / HTTP/1.0', 'GET / 1.0'],
  ['GET / HTTP/1.10', 'GET / 1.1'],
  ['GET  /  HTTP/1.1 ', 'GET / 1.1'],
  ['GET /', 'GET / 0.9'],
  ['POST /', 400],
  ['M-SEARCH_ /a?b HTTP/1.1', 'M-SEARCH_ /a?b 1.1'],
  ['GET http://a/b?c HTTP/1.1', 'GET /b?c 1.1 a'],
  ['GET http://a?c HTTP/1.1', 'GET /?c 1.1 a'],
  ['GET x+y://a:1 HTTP/1.1', 'GET / 1.1 a:1'],
  ['GET http:/// HTTP/1.1', 400],
  ['OPTIONS * HTTP/1.1', 400],
  ['CONNECT a:1 HTTP/1.1', 405],
  ['CONNECT / HTTP/1.1', 400],
  ['GET / HTTP/2.0', 505],
  ['GET / HTTP/0.9', 400],
  ['GET / HTTP/1', 400],
  ['GET / HTTP/1.', 400],
  ['GET / HTTP/1.111', 400],
  ['GET / http/1.1', 400],
  ['GET / HTTP/1.1x', 400],
  ['GET / / HTTP/1.1', 400],
  ['GET\t/ HTTP/1.1', 400],
  ['get / HTTP/1.1', 400],
  ['GET1 / HTTP/1.1', 400],
  [' GET / HTTP/1.1', 400],
  ['', 400],
];

test.each(requests)('the request line %j is read as %j', (line, says) => {
  const read = readRequestLine(line);
  if (typeof read === 'number') return expect(read).toBe(says);
  const { method, pathAndQuery, version, authority } = read;
  expect(`${method} ${pathAndQuery} ${version} ${authority}`.trim()).toBe(says);
});

const EDGES: readonly (readonly [at: string, make: (byte: string) => string, taken: RegExp])[] = [
  ['before a method', (byte) => `${byte}GET / HTTP/1.1`, /[A-Z_-]/],
  ['behind a method', (byte) => `GET${byte}/ HTTP/1.1`, / /],
  ['before a target', (byte) => `GET ${byte}/ HTTP/1.1`, /[ /]/],
  ['before a version', (byte) => `GET /${byte}HTTP/1.1`, / /],
  ['in a version', (byte) => `GET / HTTP/1${byte}1`, /\./],
  ['behind a version', (byte) => `GET / HTTP/1.1${byte}`, /[ 0-9]/],
];

test.each(EDGES)('every byte %s is accepted or refused by the rules', (_, make, taken) => {
  for (const byte of EVERY_BYTE.filter((each) => each !== '\n')) {
    const read = readRequestLine(make(byte));
    // What belongs to the target is no version, so the line is HTTP/0.9.
    const isTaken = typeof read !== 'number' && read.version === '1.1' && !read.target.includes('HTTP');
    expect(isTaken, JSON.stringify(byte)).toBe(taken.test(byte));
  }
});

test('an invalid request line is detected from its first bytes', () => {
  const maybe = ['', 'G', 'GET', 'GET ', 'GET /', 'M-SEARCH'];
  const never = ['\x16\x03\x01', 'get', 'G\0', 'PRI\t', 'SSH2', '\r'];
  expect(maybe.map(mayBeRequestLine)).toEqual(maybe.map(() => true));
  expect(never.map(mayBeRequestLine)).toEqual(never.map(() => false));
});

const responses: readonly (readonly [line: string, says: string | undefined])[] = [
  ['HTTP/1.1 200 OK', '200 OK 1.1'],
  ['HTTP/1.0 200 OK', '200 OK 1.0'],
  ['HTTP/1.1 404 Not \xe9 Found', '404 Not \xe9 Found 1.1'],
  ['HTTP/1.1 200', '200  1.1'],
  ['HTTP/1.1 200 ', '200  1.1'],
  ['HTTP/1.1   200 OK', '200 OK 1.1'],
  ['HTTP/1.2 999 x', '999 x 1.1'],
  ['HTTP/1.1 099 No', undefined],
  ['HTTP/1.1 20 OK', undefined],
  ['HTTP/1.1 2000 OK', undefined],
  ['HTTP/1.1 200OK', undefined],
  ['HTTP/2 200 OK', undefined],
  ['HTTP/2.0 200 OK', undefined],
  ['http/1.1 200 OK', undefined],
  [' HTTP/1.1 200 OK', undefined],
  ['ICY 200 OK', undefined],
  ['', undefined],
];

test.each(responses)('the status line %j is read as %j', (line, says) => {
  const read = readStatusLine(line);
  expect(read && `${read.status} ${read.reason} ${read.isHttp11 ? '1.1' : '1.0'}`).toBe(says);
});

test('a start line that is written is read back unchanged', () => {
  const { target } = readRequestLine(requestLine('GET', '/a?b', '1.1').trimEnd()) as { target: string };
  expect(target).toBe('/a?b');
  expect(readStatusLine(responseLine('204 No Content').trimEnd())?.status).toBe(204);
});
