import { get, head, post, refused, served, servedAlone, SMUGGLED, type HostileCase } from './case.ts';

type Change = Pick<HostileCase, 'statuses' | 'then'> & Partial<HostileCase>;

const refusedWith = (status: number): Change => ({ statuses: [status], then: 'closed' });
const open = (it: string, statuses: readonly number[] = [200]): Change => ({ it, statuses, then: 'open' });

/** Cases that uWebSockets.js has to refuse or cut, and that the node engine understands or refuses itself. */
const CHANGES: Readonly<Record<string, Change>> = {
  'a chunked body is taken': open('a chunked body is taken'),
  'the name of an encoding has no case': open('the name of an encoding has no case'),
  '"X-A: a\\nX-B: b\\r\\n" is refused': open('a bare line feed ends a header line'),
  '"[X]: a\\r\\n" is refused': open('a header with an odd name is dropped'),
  'more than 98 headers are refused': open('a hundred headers are taken'),
  'far more than 100 headers are refused': open('five hundred headers are taken'),
  'a head beyond all buffers is refused': refusedWith(400),
  'nothing behind a refused method is served': refusedWith(400),
  'nothing behind an unknown method is served': refusedWith(405),
  'nothing behind a refused target is served': refusedWith(400),
  'nothing behind a refused host is served': refusedWith(400),
  'nothing behind two lengths is served': refusedWith(400),
  'nothing behind a refused encoding is served': refusedWith(501),
  'a chunk with an extension is taken': open('a chunk with an extension is taken'),
  'nothing behind a chunked request is served': open('a request behind a chunked one is another', [200, 200]),
  'nothing behind junk in place of a line end is served': refusedWith(400),
  'trailers are not served as a request': open('trailers are dropped', [200, 200]),
  'a trailer that looks like a request is not served': refusedWith(400),
  'a POST without a length owns no bytes behind it': open('a POST without a length has no body', [200, 200]),
  'a DELETE without a length owns no bytes behind it': open('a DELETE without a length has none', [200, 200]),
  'a length hidden by an empty header name smuggles nothing': refusedWith(400),
  'an encoding hidden by an empty header name smuggles nothing': refusedWith(400),
  'a POST without a length is served, and the connection closed': open('a POST without a length is served'),
  'a DELETE without a length is closed behind a 204 too': open('a DELETE without a length is served', [204]),
  'a chunked HEAD is served alone': open('a chunked HEAD is served'),
  'nothing behind a chunked HEAD is served': {
    ...open('a request behind a chunked HEAD is another', [200, 200]),
    methods: ['HEAD', 'GET'],
  },
};

/** The same case with the response of the node engine. */
export function onNode(hostile: HostileCase): HostileCase {
  return { ...hostile, ...CHANGES[hostile.it] };
}

/** What the node engine decides where uWebSockets.js decides before our code runs. Guard 0. */
export const nodeCases: readonly HostileCase[] = [
  servedAlone(0, 'HTTP/1.0 is served', head('GET / HTTP/1.0')),
  refused(505)(0, 'HTTP/2.0 is refused', head('GET / HTTP/2.0')),
  served(0, 'absolute form is served', head('GET http://a.example/ HTTP/1.1')),
  refused(405)(0, 'CONNECT is refused', head('CONNECT a.example:443 HTTP/1.1')),
  refused(400)(
    0,
    'CONNECT with another target than a host and a port is refused',
    head('CONNECT / HTTP/1.1'),
  ),
  refused(400)(0, 'an authority as target is refused', head('GET a.example:443 HTTP/1.1')),
  refused(400)(0, 'OPTIONS * is refused, as by nginx', head('OPTIONS * HTTP/1.1')),
  served(0, 'bare line feeds are line ends', 'GET / HTTP/1.1\nHost: a.example\n\n'),
  refused(400)(0, 'a TLS hello is refused', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n'),
  ...['G\x00T /', 'G\xc3\xa9T /', 'GET /a\x01b', 'GET /a\tb', 'GET /?x=\x01', 'GET\t/', 'GET /\x0b'].map(
    (start) =>
      refused(400)(0, `the request line ${JSON.stringify(start)} is refused`, head(`${start} HTTP/1.1`)),
  ),
  refused(400)(0, 'a bare CR in a value is refused', get('/', 'X-A: a\rb\r\n')),
  refused(400)(0, 'a bare CR before the line end is refused', get('/', 'X-A: a\r\r\n')),
  refused(400)(0, 'a bare CR in a request line is refused', 'GET / HTTP/1.1\rHost: a.example\r\n\r\n'),
  refused(400)(0, 'an empty header name is refused', get('/', ': a\r\nX-B: c\r\n')),
  refused(400)(0, '8-bit bytes in a host are refused', head('GET / HTTP/1.1', 'Host: a.example\xff\r\n')),
  refused(501)(
    0,
    'an encoding with 8-bit bytes is refused',
    post('Transfer-Encoding: chunked\xff\r\n', '0\r\n\r\n') + SMUGGLED,
  ),
  refused(400)(
    0,
    'a chunked body of HTTP/1.0 is refused',
    head('POST / HTTP/1.0', 'Transfer-Encoding: chunked\r\n') + `0\r\n\r\n${SMUGGLED}`,
  ),
  ...['5\nhello\r\n0\r\n\r\n', '5\r\nhello\n0\r\n\r\n', '5\r\nhello\r\n0\n\r\n', '5\r\nhello\r\n0\r\n\n'].map(
    (body) =>
      refused(400)(
        0,
        `a bare line feed between chunks is refused: ${JSON.stringify(body)}`,
        post('Transfer-Encoding: chunked\r\n', body) + SMUGGLED,
      ),
  ),
];
