import {
  chunked,
  cut,
  get,
  head,
  HOST,
  post,
  refused,
  servedAlone,
  SMUGGLED,
  withHost,
  type HostileCase,
} from './case.ts';

/** Guard 7. */
export const behindRefused: readonly HostileCase[] = [
  cut(7, 'nothing behind a refused method is served', head('G@T / HTTP/1.1') + SMUGGLED),
  cut(7, 'nothing behind an unknown method is served', head('TRACE / HTTP/1.1') + SMUGGLED),
  cut(7, 'nothing behind a refused target is served', get('/%00') + SMUGGLED),
  cut(7, 'nothing behind a refused host is served', withHost('a,b') + SMUGGLED),
  cut(
    7,
    'nothing behind two lengths is served',
    post('Content-Length: 0\r\nContent-Length: 66\r\n') + SMUGGLED,
  ),
  cut(
    7,
    'nothing behind a refused encoding is served',
    post('Transfer-Encoding: identity\r\n', '0\r\n\r\n') + SMUGGLED,
  ),
  refused(400)(
    7,
    'CL.TE smuggles nothing',
    post('Content-Length: 6\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n') + SMUGGLED,
  ),
  refused(400)(
    7,
    'TE.CL smuggles nothing',
    post('Transfer-Encoding: chunked\r\nContent-Length: 4\r\n', `5c\r\n${SMUGGLED}\r\n0\r\n\r\n`),
  ),
  {
    guard: 7,
    it: 'two good requests in one packet are both served, in order',
    send: get('/a') + get('/b'),
    statuses: [200, 200],
    then: 'open',
    body: 'uri=/a',
  },
];

/** Guard 8. Where uWebSockets.js sees the fault itself, its own refusal is the only response. */
export const chunks: readonly HostileCase[] = [
  servedAlone(8, 'a chunk with an extension is taken', chunked('5;a=b\r\nhello\r\n0\r\n\r\n')),
  cut(8, 'nothing behind a chunked request is served', chunked('0\r\n\r\n') + SMUGGLED),
  refused(400)(
    8,
    'nothing behind an odd chunk size is served',
    chunked(`G\r\nhello\r\n0\r\n\r\n${SMUGGLED}`),
  ),
  cut(8, 'nothing behind junk in place of a line end is served', chunked(`5\r\nhelloXX0\r\n\r\n${SMUGGLED}`)),
  refused(505)(8, 'trailers are not served as a request', chunked(`0\r\nX-A: b\r\n\r\n${SMUGGLED}`)),
  cut(8, 'a trailer that looks like a request is not served', chunked(`0\r\n${SMUGGLED}`)),
  refused(400)(
    8,
    'nothing behind an endless chunk size is served',
    chunked(`${'f'.repeat(40)}\r\n${SMUGGLED}`),
  ),
  refused(400)(8, 'nothing behind a negative chunk size is served', chunked(`-1\r\n${SMUGGLED}`)),
  cut(8, 'a POST without a length owns no bytes behind it', post('') + SMUGGLED),
  cut(8, 'a DELETE without a length owns no bytes behind it', head('DELETE / HTTP/1.1') + SMUGGLED),
  cut(
    8,
    'a length hidden by an empty header name smuggles nothing',
    post(': x\r\nContent-Length: 66\r\n') + SMUGGLED,
  ),
  servedAlone(
    8,
    'an encoding hidden by an empty header name smuggles nothing',
    post(': x\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n') + SMUGGLED,
  ),
  servedAlone(8, 'a POST without a length is served, and the connection closed', post('')),
  {
    ...refused(204)(8, 'a DELETE without a length is closed behind a 204 too', head('DELETE /none HTTP/1.1')),
    methods: ['DELETE'],
  },
];

const headOf = (target: string, more = ''): string => head(`HEAD ${target} HTTP/1.1`, HOST + more);

/** Guard 10. */
export const withoutBody: readonly HostileCase[] = [
  { guard: 10, it: 'HEAD has no body', send: headOf('/a'), statuses: [200], then: 'open', methods: ['HEAD'] },
  {
    guard: 10,
    it: 'HEAD and GET in one packet stay in step',
    send: headOf('/a') + get('/b'),
    statuses: [200, 200],
    then: 'open',
    methods: ['HEAD', 'GET'],
  },
  { ...refused(400)(10, 'a refused HEAD has no body', headOf('/%00')), methods: ['HEAD'] },
  {
    ...servedAlone(
      10,
      'a chunked HEAD is served alone',
      headOf('/', 'Transfer-Encoding: chunked\r\n') + '0\r\n\r\n',
    ),
    methods: ['HEAD'],
  },
  cut(
    10,
    'nothing behind a chunked HEAD is served',
    headOf('/', 'Transfer-Encoding: chunked\r\n') + `0\r\n\r\n${SMUGGLED}`,
  ),
  { guard: 10, it: 'a 204 has no body', send: get('/none'), statuses: [204], then: 'open' },
];

/** Guard 11. */
export const injection: readonly HostileCase[] = [
  {
    guard: 11,
    it: 'a line end in a path never ends a header',
    send: get('/moved/a%0d%0aX-Evil:%201'),
    statuses: [302],
    then: 'open',
  },
  {
    guard: 11,
    it: 'a blank in a captured path is escaped in Location',
    send: get('/to/a%20b'),
    statuses: [302],
    then: 'open',
  },
  {
    guard: 11,
    it: 'a line end in a query stays encoded in a header',
    send: get('/header?n=a%0d%0aX:1'),
    statuses: [200],
    then: 'open',
  },
];
