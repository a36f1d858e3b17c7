import {
  chunked,
  get,
  head,
  HOST,
  post,
  refused,
  served,
  servedAlone,
  shows,
  withHost,
  type HostileCase,
} from './case.ts';

const REFUSED_HOSTS = [
  ['', ' ', 'a,b', 'a.example, b.example', 'a b', 'user@a.example', 'user:pass@a.example', 'a/b', 'http://a'],
  ['a\\b', 'a?b', 'a#b', 'a..b', '.', '.a', ':80', 'a:b', 'a:80x', 'a:-1', 'a:65536', 'a:80:80', 'a\x01'],
  ['a\x7f', 'a\xffb', 'a%2eb', '[::1', '[::1]x', '[a]', '::1', 'a'.repeat(256)],
].flat();

/** Guard 3. */
export const hosts: readonly HostileCase[] = [
  shows('server b')(3, 'a host has no case, no port, no trailing dot', withHost('B.Example.:8080')),
  shows('host=[::1]')(3, 'an IPv6 literal is a host', withHost('[::1]:80')),
  ...REFUSED_HOSTS.map((value) =>
    refused(400)(3, `the host ${JSON.stringify(value.slice(0, 30))} is refused`, withHost(value)),
  ),
  refused(400)(3, 'a request without Host is refused', head('GET / HTTP/1.1', '')),
  refused(400)(3, 'two hosts are refused', get('/', 'Host: b.example\r\n')),
  refused(400)(3, 'the same host twice is refused', get('/', HOST)),
];

const REFUSED_LENGTHS = [
  [
    '',
    '+5',
    '-1',
    '5,5',
    '5, 5',
    '5 5',
    '0x5',
    '5a',
    'a',
    '1e1',
    '5.0',
    '9'.repeat(16),
    '18446744073709551621',
  ],
  ['\x0b5', '"5"'],
].flat();

const SINGLE =
  'Authorization Content-Range Expect If-Match If-Modified-Since If-None-Match If-Range If-Unmodified-Since';

/** Two programs may read two different ones of two lines. */
export const singles: readonly HostileCase[] = SINGLE.split(' ').map((name) =>
  refused(400)(
    3,
    `a second ${name} is refused, with the same value too`,
    get('/', `${name}: x\r\n`.repeat(2)),
  ),
);

/** Guard 4. */
export const lengths: readonly HostileCase[] = [
  served(4, 'a body of the announced length is taken', post('Content-Length: 5\r\n', 'hello')),
  ...REFUSED_LENGTHS.map((value) =>
    refused(400)(
      4,
      `Content-Length: ${JSON.stringify(value)} is refused`,
      post(`Content-Length: ${value}\r\n`),
    ),
  ),
  refused(400)(4, 'two different lengths are refused', post('Content-Length: 0\r\nContent-Length: 5\r\n')),
  refused(400)(4, 'two equal lengths are refused', post('Content-Length: 0\r\nContent-Length: 0\r\n')),
  ...[
    'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n',
    'Transfer-Encoding: chunked\r\nContent-Length: 5\r\n',
    'Content-Length: 0\r\nTransfer-Encoding: x\r\n',
  ].map((headers) => refused(400)(4, `${JSON.stringify(headers)} is refused`, post(headers, '0\r\n\r\n'))),
];

const REFUSED_ENCODINGS = [
  ['identity', 'gzip', 'xchunked', 'chunkedx', 'chunked, gzip', 'gzip, chunked', 'chunked, chunked'],
  ['"chunked"', ''],
].flat();

/** Guard 5. */
export const encodings: readonly HostileCase[] = [
  servedAlone(5, 'a chunked body is taken', chunked('5\r\nhello\r\n0\r\n\r\n')),
  servedAlone(5, 'the name of an encoding has no case', post('Transfer-Encoding: Chunked\r\n', '0\r\n\r\n')),
  ...REFUSED_ENCODINGS.map((value) =>
    refused(501)(
      5,
      `Transfer-Encoding: ${JSON.stringify(value)} is refused`,
      post(`Transfer-Encoding: ${value}\r\n`),
    ),
  ),
  refused(400)(5, 'an encoding with a control byte is refused', post('Transfer-Encoding: \x0bchunked\r\n')),
  ...['chunked', 'x'].map((second) =>
    refused(400)(
      5,
      `chunked and then ${second} is refused`,
      post(`Transfer-Encoding: chunked\r\nTransfer-Encoding: ${second}\r\n`),
    ),
  ),
];

const many = (count: number): string => Array.from({ length: count }, (_, i) => `X-${i}: ${i}\r\n`).join('');

const REFUSED_HEADER_LINES = [
  ['\x00', '\x01', '\x08', '\x0b', '\x0c', '\x1b', '\x1f', '\x7f', '\n'].map((byte) => `X-A: a${byte}b\r\n`),
  ['X-A: a\nX-B: b\r\n', 'X-A: a\r\n b\r\n', 'X-A : a\r\n', 'X-A\r\n', 'X\x01A: a\r\n', '[X]: a\r\n'],
].flat();

/** Guard 6. */
export const headers: readonly HostileCase[] = [
  served(6, 'a tab and 8-bit bytes in a value are taken', get('/', 'X-A: a\tb\xe9c\r\n')),
  served(6, 'ninety headers are taken', get('/', many(90))),
  ...REFUSED_HEADER_LINES.map((line) =>
    refused(400)(6, `${JSON.stringify(line)} is refused`, get('/', line)),
  ),
  refused(431)(6, 'more than 98 headers are refused', get('/', many(98))),
  refused(431)(6, 'far more than 100 headers are refused', get('/', many(500))),
  refused(400)(6, 'a header line beyond the buffer is refused', get('/', `X-A: ${'a'.repeat(9000)}\r\n`)),
  refused(414)(6, 'a request line beyond the buffer is refused', get(`/${'a'.repeat(9000)}`)),
  refused(431)(6, 'a head beyond all buffers is refused', get('/', `X-A: ${'a'.repeat(200_000)}\r\n`)),
];
