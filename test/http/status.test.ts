import { afterAll, expect, test } from 'vitest';
import { builtInPage, statusLine, statusOnWire } from '../../src/http/status.ts';
import { startRealNginx } from './real-nginx.ts';

const simplePage = (title: string, token: string) =>
  `<html>\r\n<head><title>${title}</title></head>\r\n<body>\r\n<center><h1>${title}</h1></center>\r\n` +
  `<hr><center>${token}</center>\r\n</body>\r\n</html>\r\n`;

const badRequestPage = (detail: string, token: string) =>
  `<html>\r\n<head><title>400 ${detail}</title></head>\r\n<body>\r\n<center><h1>400 Bad Request</h1></center>\r\n` +
  `<center>${detail}</center>\r\n<hr><center>${token}</center>\r\n</body>\r\n</html>\r\n`;

/** Recorded from nginx 1.22.1: the status line and the page's title; `''` is an empty body. */
const recorded: readonly [code: number, line: string, title: string][] = [
  [200, '200 OK', ''],
  [201, '201 Created', ''],
  [202, '202 Accepted', ''],
  [203, '203 ', ''],
  [204, '204 No Content', ''],
  [206, '206 Partial Content', ''],
  [300, '300 ', ''],
  [301, '301 Moved Permanently', '301 Moved Permanently'],
  [302, '302 Moved Temporarily', '302 Found'],
  [303, '303 See Other', '303 See Other'],
  [304, '304 Not Modified', ''],
  [307, '307 Temporary Redirect', '307 Temporary Redirect'],
  [308, '308 Permanent Redirect', '308 Permanent Redirect'],
  [400, '400 Bad Request', '400 Bad Request'],
  [401, '401 Unauthorized', '401 Authorization Required'],
  [402, '402 Payment Required', '402 Payment Required'],
  [403, '403 Forbidden', '403 Forbidden'],
  [404, '404 Not Found', '404 Not Found'],
  [405, '405 Not Allowed', '405 Not Allowed'],
  [406, '406 Not Acceptable', '406 Not Acceptable'],
  [407, '407 ', ''],
  [409, '409 Conflict', '409 Conflict'],
  [410, '410 Gone', '410 Gone'],
  [411, '411 Length Required', '411 Length Required'],
  [412, '412 Precondition Failed', '412 Precondition Failed'],
  [413, '413 Request Entity Too Large', '413 Request Entity Too Large'],
  [414, '414 Request-URI Too Large', '414 Request-URI Too Large'],
  [415, '415 Unsupported Media Type', '415 Unsupported Media Type'],
  [416, '416 Requested Range Not Satisfiable', '416 Requested Range Not Satisfiable'],
  [418, '418 ', ''],
  [421, '421 Misdirected Request', '421 Misdirected Request'],
  [422, '422 ', ''],
  [429, '429 Too Many Requests', '429 Too Many Requests'],
  [431, '431 ', ''],
  [498, '498 ', '404 Not Found'],
  [500, '500 Internal Server Error', '500 Internal Server Error'],
  [501, '501 Not Implemented', '501 Not Implemented'],
  [502, '502 Bad Gateway', '502 Bad Gateway'],
  [503, '503 Service Temporarily Unavailable', '503 Service Temporarily Unavailable'],
  [504, '504 Gateway Time-out', '504 Gateway Time-out'],
  [505, '505 HTTP Version Not Supported', '505 HTTP Version Not Supported'],
  [506, '506 ', ''],
  [507, '507 Insufficient Storage', '507 Insufficient Storage'],
  [599, '599 ', ''],
  [999, '999 ', ''],
];

const badRequests: readonly [code: number, detail: string][] = [
  [494, 'Request Header Or Cookie Too Large'],
  [495, 'The SSL certificate error'],
  [496, 'No required SSL certificate was sent'],
  [497, 'The plain HTTP request was sent to HTTPS port'],
];

const codes = [...recorded, ...badRequests].map(([code]) => code);
const nginx = await startRealNginx(codes.map((code) => `location = /${code} { return ${code}; }`).join('\n'));
afterAll(() => nginx?.stop());

/** nginx only confirms the table: without nginx, gw still has to give the recorded bytes. */
async function confirm(code: number, line: string, page: (token: string) => string): Promise<void> {
  if (!nginx) return;
  const { head, body } = await nginx.get(`/${code}`);
  const token = /\r\nServer: (\S+)/.exec(head)?.[1] ?? '';
  expect(head.split('\r\n')[0]).toBe(`HTTP/1.1 ${line}`);
  expect(body).toBe(page(token));
}

test.each(recorded)('status %i has nginx’s status line "%s" and the page "%s"', async (code, line, title) => {
  expect(statusLine(code)).toBe(line);
  expect(statusOnWire(code)).toBe(code);
  expect(builtInPage(code, 'gw/0.1.0')).toBe(title === '' ? undefined : simplePage(title, 'gw/0.1.0'));
  await confirm(code, line, (token) => (title === '' ? '' : simplePage(title, token)));
});

test.each(badRequests)('status %i is a 400 on the wire that says "%s"', async (code, detail) => {
  expect(statusLine(code)).toBe('400 Bad Request');
  expect(statusOnWire(code)).toBe(400);
  expect(builtInPage(code, 'gw')).toBe(badRequestPage(detail, 'gw'));
  await confirm(code, '400 Bad Request', (token) => badRequestPage(detail, token));
});

test('a request that timed out has a page, though nginx closes the connection on "return 408"', () => {
  expect(statusLine(408)).toBe('408 Request Time-out');
  expect(builtInPage(408, 'gw')).toBe(simplePage('408 Request Time-out', 'gw'));
});
