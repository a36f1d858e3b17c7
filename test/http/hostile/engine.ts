import { cut, get, head, post, refused, served, servedAlone, SMUGGLED, type HostileCase } from './case.ts';

/**
 * What uWebSockets.js 20.51 decides before any of our code runs and cannot be changed: guard 0. Three of
 * them get no response until its own time limit closes the connection.
 */
export const engineCases: readonly HostileCase[] = [
  refused(505)(0, 'HTTP/1.0 is refused', head('GET / HTTP/1.0')),
  refused(505)(0, 'HTTP/2.0 is refused', head('GET / HTTP/2.0')),
  cut(0, 'a request line without a version is never answered', head('GET /')),
  refused(505)(0, 'absolute form is refused', head('GET http://a.example/ HTTP/1.1')),
  refused(505)(0, 'CONNECT is refused', head('CONNECT a.example:443 HTTP/1.1')),
  refused(505)(0, 'OPTIONS * is refused', head('OPTIONS * HTTP/1.1')),
  refused(505)(0, 'bare line feeds are refused', 'GET / HTTP/1.1\nHost: a.example\n\n'),
  refused(505)(0, 'a TLS hello is refused', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n'),
  ...['G\x00T /', 'G\xc3\xa9T /', 'GET /a\x01b', 'GET /a\tb', 'GET /?x=\x01'].map((start) =>
    refused(505)(0, `the request line ${JSON.stringify(start)} is refused`, head(`${start} HTTP/1.1`)),
  ),
  cut(0, 'a bare CR in a value is never answered', get('/', 'X-A: a\rb\r\n')),
  cut(0, 'a head that never ends is never answered', 'GET / HTTP/1.1\r\nHost: a.example\r\n'),
  served(0, 'an empty header name hides the headers behind it', get('/', ': a\r\nX-B: c\r\n')),
  served(
    0,
    '8-bit bytes at the end of a value are cut off',
    head('GET / HTTP/1.1', 'Host: a.example\xff\r\n'),
  ),
  servedAlone(
    0,
    '8-bit bytes around an encoding do not let anything through',
    post('Transfer-Encoding: chunked\xff\r\n', '0\r\n\r\n'),
  ),
  cut(
    0,
    'nothing is served behind an encoding with 8-bit bytes',
    post('Transfer-Encoding: chunked\xff\r\n', '0\r\n\r\n') + SMUGGLED,
  ),
];
