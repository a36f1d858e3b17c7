import { get, head, refused, served, shows, type HostileCase } from './case.ts';

const REFUSED_METHODS = ['TRACE', 'TRACK'];
const NOT_TOKENS = ['G@T', '(GET)', 'get', 'Get', 'G"T', '', 'G\x7fT', '[GET]', 'GET:'];

/** Guard 1. */
export const methods: readonly HostileCase[] = [
  ...['GET', 'OPTIONS'].map((method) =>
    served(1, `the method ${method} is served`, head(`${method} / HTTP/1.1`)),
  ),
  ...['FOO', 'PROPFIND', 'GETX', 'M-SEARCH'].map((method) =>
    served(
      1,
      `the method ${method} is served`,
      head(`${method} / HTTP/1.1`, 'Host: a.example\r\nContent-Length: 0\r\n'),
    ),
  ),
  ...NOT_TOKENS.map((method) =>
    refused(400)(1, `the method ${JSON.stringify(method)} is no token`, head(`${method} / HTTP/1.1`)),
  ),
  ...REFUSED_METHODS.map((method) =>
    refused(405)(1, `the method ${method} is refused`, head(`${method} / HTTP/1.1`)),
  ),
];

/** Separated by blanks. */
const REFUSED_TARGETS = [
  '/\\ /..\\..\\a /a\\b',
  '/\x7f /\xff /?x=\xff /?x=\x7f',
  '/% /%4 /%zz /?x=%zz /?x=% /%00 /a%00.php',
  '/%ff /%c0%ae%c0%ae/ /%c0%af /%e0%80%af /%ed%a0%80 /%f4%90%80%80 /%c3',
  '/.. /../ /../etc/passwd /a/../../etc/passwd /%2e%2e/etc/passwd /%2e%2e%2fetc/passwd /.%2e/ /..%2f /a/..%2f..%2f',
].join(' ');

/** Guard 2. */
export const targets: readonly HostileCase[] = [
  shows('uri=/a/b args=x=1')(2, 'a plain target is served', get('/a/b?x=1')),
  shows('uri=/%2e%2e/%61')(2, 'a target is decoded once', get('/%252e%252e/%2561')),
  shows('uri=/a/c')(2, 'dot segments and double slashes are resolved', get('//a/./b/../c')),
  shows('uri=/b')(2, 'encoded dot segments are resolved', get('/a/%2e%2e/b')),
  shows('uri=/b')(2, 'an encoded slash is a slash', get('/a%2f..%2fb')),
  shows('args=x=%2e%2e%2f%0d%0a')(2, 'a query is never decoded', get('/a?x=%2e%2e%2f%0d%0a')),
  shows('uri=/a"<>^`{|}')(2, 'what browsers send raw in a path is taken', get('/a"<>^`{|}')),
  shows('args=x=["<>^`{|}\\')(2, 'what API clients send raw in a query is taken', get('/a?x=["<>^`{|}\\')),
  shows('uri=/\xc3\xa9 args=x=\xc3\xa9')(
    2,
    'UTF-8 that is not encoded is taken',
    get('/\xc3\xa9?x=\xc3\xa9'),
  ),
  shows('uri=/a/ args= ')(2, 'a fragment is cut off', get('/a/.#x?y')),
  shows('uri=/a args=q=1 ')(2, 'a fragment behind a query is cut off', get('/a?q=1#x')),
  ...REFUSED_TARGETS.split(' ').map((target) =>
    refused(400)(2, `the target ${JSON.stringify(target)} is refused`, get(target)),
  ),
];
