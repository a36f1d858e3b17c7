import { END_HEADERS, FRAME, fieldBlock, frame } from '../../harness/http2-frames.ts';
import { data, FINE, headers, post, PSEUDO, requestFields, type Sections, WHOLE } from './case.ts';

const MALFORMED = 'a malformed request is an error of its stream (8.1.1)';
const DROPPED = 'nghttp2 drops the field, and serves the request without it';

type Field = readonly [string, string];
const without = (...names: string[]): readonly Field[] => PSEUDO.filter(([name]) => !names.includes(name));
const withValue = (name: string, value: string): readonly Field[] =>
  PSEUDO.map(([known, was]) => [known, known === name ? value : was]);
const get = (...fields: readonly Field[]): Buffer => headers(1, [...PSEUDO, ...fields]);
const of = (fields: readonly Field[]): Buffer => headers(1, fields);
const block = (...bytes: readonly (Uint8Array | number)[]): Buffer =>
  frame(FRAME.headers, {
    stream: 1,
    flags: WHOLE,
    payload: Buffer.concat(bytes.map((one) => (typeof one === 'number' ? Buffer.from([one]) : one))),
  });
/** `:method: GET`, `:scheme: http`, `:path: /` of the static table. */
const INDEXED = Buffer.from([0x82, 0x86, 0x84]);
const AUTHORITY = Buffer.from([0x01, 1, 0x61]);
const TRAILERS = fieldBlock([['x-end', '1']]);

/** Requests, and how their fields are written. */
export const MESSAGES: Sections = {
  '8.1 HTTP message framing': [
    { it: 'serves GET', sent: [get()], nginx: FINE },
    { it: 'serves HEAD without a body', sent: [of(requestFields('/', 'HEAD'))], nginx: '1: 200' },
    {
      it: 'serves POST with trailers',
      sent: [post(1), data(1, 'x', 0), frame(FRAME.headers, { stream: 1, flags: WHOLE, payload: TRAILERS })],
      nginx: 'connection: PROTOCOL_ERROR',
      gw: FINE,
      because: 'nginx 1.22 reads no trailers of requests',
    },
    {
      it: 'wants no second head within a body',
      sent: [
        post(1),
        frame(FRAME.headers, { stream: 1, flags: END_HEADERS, payload: TRAILERS }),
        data(1, 'x'),
      ],
      nginx: 'connection: PROTOCOL_ERROR',
      gw: '1: PROTOCOL_ERROR',
      because: 'nginx 1.22 reads no trailers of requests',
    },
    {
      it: 'wants no pseudo-header field in trailers',
      sent: [
        post(1),
        data(1, 'x', 0),
        frame(FRAME.headers, { stream: 1, flags: WHOLE, payload: fieldBlock([[':method', 'GET']]) }),
      ],
      nginx: 'connection: PROTOCOL_ERROR',
      gw: '1: PROTOCOL_ERROR',
      because: 'nginx 1.22 reads no trailers of requests',
    },
  ],
  '8.1.1 Malformed messages': [
    {
      it: 'wants the body that content-length promises',
      sent: [post(1, ['content-length', '5']), data(1, 'abc')],
      nginx: '1: 400, 1: a page',
      gw: '1: PROTOCOL_ERROR',
      because: MALFORMED,
    },
    {
      it: 'wants no more than content-length promises',
      sent: [post(1, ['content-length', '1']), data(1, 'abc')],
      nginx: '1: 400, 1: a page',
      gw: ['1: PROTOCOL_ERROR', 'connection: PROTOCOL_ERROR'],
      because:
        'a malformed request is an error of its stream (8.1.1); nghttp2 of Node.js 22 ends the connection',
    },
    {
      it: 'adds the pieces of a body up',
      sent: [post(1, ['content-length', '5']), data(1, 'ab', 0), data(1, 'c')],
      nginx: '1: 400, 1: a page',
      gw: '1: PROTOCOL_ERROR',
      because: MALFORMED,
    },
    {
      it: 'wants a body behind content-length',
      sent: [get(['content-length', '5'])],
      nginx: '1: 400, 1: a page',
      gw: '1: PROTOCOL_ERROR',
      because: MALFORMED,
    },
    {
      it: 'wants one content-length',
      sent: [post(1, ['content-length', '1'], ['content-length', '2']), data(1, 'a')],
      nginx: '1: 400, 1: a page, 1: NO_ERROR',
      gw: '1: PROTOCOL_ERROR',
      because: MALFORMED,
    },
    {
      it: 'wants a number as content-length',
      sent: [post(1, ['content-length', 'x']), data(1, 'a')],
      nginx: '1: 400, 1: a page, 1: NO_ERROR',
      gw: '1: PROTOCOL_ERROR',
      because: MALFORMED,
    },
  ],
  '8.2 HTTP fields': [
    { it: 'wants no upper-case name', sent: [get(['X-Upper', '1'])], nginx: '1: PROTOCOL_ERROR' },
    {
      it: 'wants no name with a blank',
      sent: [get(['x a', '1'])],
      nginx: '1: PROTOCOL_ERROR',
      gw: FINE,
      because: DROPPED,
    },
    {
      it: 'wants no name with a colon',
      sent: [get(['x:a', '1'])],
      nginx: '1: PROTOCOL_ERROR',
      gw: FINE,
      because: DROPPED,
    },
    {
      it: 'wants no line end in a value',
      sent: [get(['x-a', '1\r\nx-b: 2'])],
      nginx: '1: PROTOCOL_ERROR',
      gw: FINE,
      because: DROPPED,
    },
    {
      it: 'wants no zero byte in a value',
      sent: [get(['x-a', '1\0'])],
      nginx: '1: PROTOCOL_ERROR',
      gw: FINE,
      because: DROPPED,
    },
    {
      it: 'wants no Connection',
      sent: [get(['connection', 'keep-alive'])],
      nginx: FINE,
      gw: '1: PROTOCOL_ERROR',
      because: MALFORMED,
    },
    {
      it: 'wants no Transfer-Encoding',
      sent: [post(1, ['transfer-encoding', 'chunked']), data(1, 'a')],
      nginx: FINE,
      gw: '1: PROTOCOL_ERROR',
      because: MALFORMED,
    },
    {
      it: 'wants no Upgrade',
      sent: [get(['upgrade', 'websocket'])],
      nginx: FINE,
      gw: '1: PROTOCOL_ERROR',
      because: MALFORMED,
    },
    {
      it: 'wants no TE but trailers',
      sent: [get(['te', 'gzip'])],
      nginx: FINE,
      gw: '1: PROTOCOL_ERROR',
      because: MALFORMED,
    },
    { it: 'takes TE of trailers', sent: [get(['te', 'trailers'])], nginx: FINE },
    { it: 'takes a cookie in pieces', sent: [get(['cookie', 'a=1'], ['cookie', 'b=2'])], nginx: FINE },
  ],
  '8.3 HTTP control data': [
    {
      it: 'wants no unknown pseudo-header field',
      sent: [get([':unknown', '1'])],
      nginx: '1: 400, 1: a page',
      gw: '1: PROTOCOL_ERROR',
      because: MALFORMED,
    },
    {
      it: 'wants no unknown pseudo-header field before others',
      sent: [of([[':unknown', '1'], ...PSEUDO])],
      nginx: '1: 400, 1: a page',
      gw: '1: PROTOCOL_ERROR',
      because: MALFORMED,
    },
    {
      it: 'wants no pseudo-header field of a response',
      sent: [of([...PSEUDO, [':status', '200']])],
      nginx: '1: 400, 1: a page',
      gw: '1: PROTOCOL_ERROR',
      because: MALFORMED,
    },
    {
      it: 'wants no pseudo-header field behind others',
      sent: [of([['x-a', '1'], ...PSEUDO])],
      nginx: FINE,
      gw: '1: PROTOCOL_ERROR',
      because: MALFORMED,
    },
  ],
  '8.3.1 Request pseudo-header fields': [
    {
      it: 'wants a :method',
      sent: [of(without(':method'))],
      nginx: '1: 400, 1: a page',
      gw: '1: PROTOCOL_ERROR',
      because: MALFORMED,
    },
    {
      it: 'wants a :scheme',
      sent: [of(without(':scheme'))],
      nginx: '1: 400, 1: a page',
      gw: '1: PROTOCOL_ERROR',
      because: MALFORMED,
    },
    {
      it: 'wants a :path',
      sent: [of(without(':path'))],
      nginx: '1: 400, 1: a page',
      gw: '1: PROTOCOL_ERROR',
      because: MALFORMED,
    },
    {
      it: 'wants a :path that is not empty',
      sent: [of(withValue(':path', ''))],
      nginx: '1: 400, 1: a page, connection: PROTOCOL_ERROR',
      gw: '1: PROTOCOL_ERROR',
      because: MALFORMED,
    },
    {
      it: 'wants a :path that begins with a slash',
      sent: [of(withValue(':path', 'a'))],
      nginx: '1: 400, 1: a page',
      gw: '1: PROTOCOL_ERROR',
      because: MALFORMED,
    },
    {
      it: 'wants one :method',
      sent: [of([...PSEUDO, [':method', 'GET']])],
      nginx: '1: 400, 1: a page',
      gw: '1: PROTOCOL_ERROR',
      because: MALFORMED,
    },
    {
      it: 'wants one :scheme',
      sent: [of([...PSEUDO, [':scheme', 'http']])],
      nginx: '1: 400, 1: a page',
      gw: '1: PROTOCOL_ERROR',
      because: MALFORMED,
    },
    {
      it: 'wants one :path',
      sent: [of([...PSEUDO, [':path', '/']])],
      nginx: '1: 400, 1: a page',
      gw: '1: PROTOCOL_ERROR',
      because: MALFORMED,
    },
    {
      it: 'wants one :authority',
      sent: [of([...PSEUDO, [':authority', 'a.example']])],
      nginx: '1: 400, 1: a page',
      gw: '1: PROTOCOL_ERROR',
      because: MALFORMED,
    },
    {
      it: 'wants an :authority or a Host',
      sent: [of(without(':authority'))],
      nginx: '1: 400, 1: a page',
      gw: '1: PROTOCOL_ERROR',
      because: MALFORMED,
    },
    {
      it: 'takes Host instead of :authority',
      sent: [of([...without(':authority'), ['host', 'a.example']])],
      nginx: FINE,
    },
    {
      it: 'wants no Host that differs from :authority',
      sent: [get(['host', 'b.example'])],
      nginx: '1: 400, 1: a page',
    },
    {
      it: 'wants no user in :authority',
      sent: [of(withValue(':authority', 'u@a.example'))],
      nginx: FINE,
      gw: ['1: 400, 1: a page', '1: PROTOCOL_ERROR'],
      because: 'user information is deprecated (8.3.1)',
    },
  ],
  '8.4 Server push': [
    { it: 'pushes nothing, although a client allows it', sent: [get(['x-push', '1'])], nginx: FINE },
  ],
  '8.5 The CONNECT method': [
    {
      it: 'is no proxy',
      sent: [
        of([
          [':method', 'CONNECT'],
          [':authority', 'b.example:443'],
        ]),
      ],
      nginx: '1: 400, 1: a page',
      gw: '1: another status, 1: a page',
      because: 'nginx 1.22 misses the path, which CONNECT has not',
    },
    {
      it: 'wants no :path',
      sent: [of(withValue(':method', 'CONNECT'))],
      nginx: '1: another status, 1: a page',
      gw: '1: PROTOCOL_ERROR',
      because: MALFORMED,
    },
  ],
  'RFC 7541, 2.3 to 5.2': [
    { it: 'reads indexed fields', sent: [block(INDEXED, AUTHORITY)], nginx: FINE },
    {
      it: 'reads a literal with indexing, and its index',
      sent: [block(INDEXED, 0x41, 1, 0x61, 0x40, 1, 0x78, 1, 0x79, 0xbe)],
      nginx: FINE,
    },
    {
      it: 'reads a literal that is never indexed',
      sent: [block(INDEXED, AUTHORITY, 0x10, 1, 0x78, 1, 0x79)],
      nginx: FINE,
    },
    { it: 'reads a value in Huffman code', sent: [block(INDEXED, 0x01, 0x81, 0x1f)], nginx: FINE },
    { it: 'reads a change of the size of the table', sent: [block(0x20, INDEXED, AUTHORITY)], nginx: FINE },
    {
      it: 'wants no change of the size behind a field',
      sent: [block(INDEXED, AUTHORITY, 0x20)],
      nginx: FINE,
      gw: 'connection: COMPRESSION_ERROR',
      because: 'RFC 7541',
    },
    {
      it: 'wants no table that is larger than its settings say',
      sent: [block(0x3f, 0xe2, 0x1f, INDEXED, AUTHORITY)],
      nginx: 'connection: COMPRESSION_ERROR',
    },
    {
      it: 'wants no index 0',
      sent: [block(INDEXED, AUTHORITY, 0x80)],
      nginx: 'connection: COMPRESSION_ERROR',
    },
    {
      it: 'wants no index beyond the table',
      sent: [block(INDEXED, AUTHORITY, 0xff, 0x00)],
      nginx: 'connection: COMPRESSION_ERROR',
    },
    {
      it: 'wants no Huffman code with padding of more than seven bits',
      sent: [block(INDEXED, 0x01, 0x82, 0x1f, 0xff)],
      nginx: FINE,
      gw: 'connection: COMPRESSION_ERROR',
      because: 'RFC 7541',
    },
    {
      it: 'wants no Huffman code with padding of zeros',
      sent: [block(INDEXED, 0x01, 0x81, 0x18)],
      nginx: 'connection: COMPRESSION_ERROR',
    },
    {
      it: 'wants no Huffman code with its end',
      sent: [block(INDEXED, 0x01, 0x85, 0x1f, 0xff, 0xff, 0xff, 0xff)],
      nginx: 'connection: COMPRESSION_ERROR',
    },
  ],
};
