import { expect, test } from 'vitest';
import { CHUNKED, NO_LENGTH } from '../../../src/http1/index.ts';
import { readHead } from '../../../src/client/index.ts';

const read = (text: string, method = 'GET') => readHead(text, { method });

const framings: readonly {
  it: string;
  head: string;
  method?: string;
  bodyBytes: number;
  keepsAlive: boolean;
}[] = [
  {
    it: 'has the length of Content-Length',
    head: 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n',
    bodyBytes: 5,
    keepsAlive: true,
  },
  {
    it: 'is chunked',
    head: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n',
    bodyBytes: CHUNKED,
    keepsAlive: true,
  },
  {
    it: 'ends with its connection',
    head: 'HTTP/1.1 200 OK\r\n\r\n',
    bodyBytes: NO_LENGTH,
    keepsAlive: false,
  },
  {
    it: 'closes when it says so',
    head: 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: x, Close\r\n\r\n',
    bodyBytes: 0,
    keepsAlive: false,
  },
  {
    it: 'closes when one of its lines says so',
    head: 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\nConnection: keep-alive\r\n\r\n',
    bodyBytes: 0,
    keepsAlive: false,
  },
  {
    it: 'of HTTP/1.0 closes',
    head: 'HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n',
    bodyBytes: 0,
    keepsAlive: false,
  },
  {
    it: 'of HTTP/1.0 may stay open',
    head: 'HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n',
    bodyBytes: 0,
    keepsAlive: true,
  },
  {
    it: 'to a HEAD has no body',
    head: 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n',
    method: 'HEAD',
    bodyBytes: 0,
    keepsAlive: true,
  },
  { it: 'with 204 has no body', head: 'HTTP/1.1 204 No Content\r\n\r\n', bodyBytes: 0, keepsAlive: true },
  {
    it: 'with 304 has no body whatever its length',
    head: 'HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n',
    bodyBytes: 0,
    keepsAlive: true,
  },
  {
    it: 'may have bare line feeds',
    head: 'HTTP/1.1 200 OK\nContent-Length: 2\n\n',
    bodyBytes: 2,
    keepsAlive: true,
  },
];

for (const { it, head, method, bodyBytes, keepsAlive } of framings) {
  test(`a response ${it}`, () => {
    expect(read(head, method)).toMatchObject({ bodyBytes, keepsAlive });
  });
}

const refused: readonly { it: string; lines: string; message: string }[] = [
  { it: 'two lengths', lines: 'Content-Length: 2\r\nContent-Length: 3', message: 'duplicate header line' },
  {
    it: 'the same length twice',
    lines: 'Content-Length: 2\r\ncontent-length: 2',
    message: 'duplicate header line',
  },
  {
    it: 'a length and chunks',
    lines: 'Content-Length: 2\r\nTransfer-Encoding: chunked',
    message: 'at the same time',
  },
  {
    it: 'chunks and a length',
    lines: 'Transfer-Encoding: chunked\r\nContent-Length: 2',
    message: 'at the same time',
  },
  { it: 'a length that is not a number', lines: 'Content-Length: two', message: 'invalid "Content-Length"' },
  { it: 'a negative length', lines: 'Content-Length: -2', message: 'invalid "Content-Length"' },
  { it: 'a list of lengths', lines: 'Content-Length: 2, 2', message: 'invalid "Content-Length"' },
  {
    it: 'an unknown encoding',
    lines: 'Transfer-Encoding: gzip, chunked',
    message: 'unknown "Transfer-Encoding"',
  },
  {
    it: 'two encodings',
    lines: 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked',
    message: 'duplicate header line',
  },
  {
    it: 'an encoding after a vertical tab',
    lines: 'Transfer-Encoding: \x0bchunked',
    message: 'unknown "Transfer-Encoding"',
  },
  { it: 'a folded line', lines: 'X-A: 1\r\n folded', message: 'invalid header' },
  { it: 'a blank in a name', lines: 'X A: 1', message: 'invalid header' },
  { it: 'a blank before the colon', lines: 'Content-Length : 2', message: 'invalid header' },
  { it: 'a line without a name', lines: ': 1', message: 'invalid header' },
  { it: 'a NUL in a value', lines: 'X-A: a\0b', message: 'invalid header' },
];

for (const { it, lines, message } of refused) {
  test(`a head with ${it} is refused`, () => {
    expect(() => read(`HTTP/1.1 200 OK\r\n${lines}\r\n\r\n`)).toThrow(message);
  });
}

for (const line of [
  'garbage',
  'HTTP/2 200 OK',
  'HTTP/1.1 20 OK',
  'HTTP/1.1 099 No',
  'ICY 200 OK',
  'HTTP/1.1  ',
]) {
  test(`"${line}" is not a status line`, () => {
    expect(() => read(`${line}\r\n\r\n`)).toThrow('no valid HTTP/1.0 header');
  });
}

test('the log shows an unprintable character as its code', () => {
  expect(() => read('HTTP/1.1 200 OK\r\nX\x1b[2J: 1\r\n\r\n')).toThrow('"X\\x1b[2J: 1\\x0d..."');
});

test('headers keep their order, their case and their UTF-8', () => {
  const { headers, reason } = read(
    'HTTP/1.1 200 Gr\xc3\xbcn\r\nX-B: caf\xc3\xa9\r\nx-a:\t \r\nX-L: \xe9\r\n\r\n',
  );
  expect(headers).toEqual(['X-B', 'café', 'x-a', '', 'X-L', 'é']);
  expect(reason).toBe('Grün');
});

test('only spaces and tabs around a value are dropped: another blank may be half of a character', () => {
  const { headers } = read('HTTP/1.1 200 OK\r\nX-A: \t caf\xc3\xa0 \t\r\n\r\n');
  expect(headers).toEqual(['X-A', 'caf\u00e0']);
});
