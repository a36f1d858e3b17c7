import { expect, test } from 'vitest';
import { type ErrorLine, errorText, jsonLine, type LoggedRequest } from '../../src/log/error-line.ts';
import { jsonString } from '../../src/log/json-text.ts';
import { perTier } from '../harness/tier.ts';

const about: LoggedRequest = {
  requestId: '0123456789abcdef0123456789abcdef',
  traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
  spanId: '00f067aa0ba902b7',
  tags: [
    ['team', 'a "b"\n'],
    ['msg', 'of the tag'],
  ],
};

const line = (more: Partial<ErrorLine> = {}): ErrorLine => ({
  level: 'error',
  message: 'open() "/x" failed (2: No such file or directory)',
  context: undefined,
  timeMs: Date.UTC(2026, 10, 29, 3, 4, 5, 67),
  tid: 3,
  ...more,
});

const parsed = (more?: Partial<ErrorLine>) => JSON.parse(jsonLine(line(more))) as Record<string, unknown>;

test('a line of JSON has the names of the commercial nginx, and the error of the system in members of its own', () => {
  const context = {
    connection: 7,
    client: '10.0.0.1',
    server: 'a.example',
    request: 'GET /x?token=abc HTTP/1.1',
    subrequest: '/auth',
    upstream: 'http://u/?key=1',
    host: 'A.example',
    referrer: 'http://r/?password=x',
    sqlstate: '53300',
    about,
  };
  expect(parsed({ context })).toEqual({
    timestamp: '2026-11-29T03:04:05.067Z',
    level: 'error',
    pid: process.pid,
    tid: 3,
    cnum: 7,
    msg: 'open() "/x" failed',
    errno: 2,
    errtext: 'No such file or directory',
    client: '10.0.0.1',
    server: 'a.example',
    request: 'GET /x?token=*** HTTP/1.1',
    subrequest: '/auth',
    upstream: 'http://u/?key=***',
    host: 'A.example',
    referrer: 'http://r/?password=***',
    request_id: about.requestId,
    trace_id: about.traceId,
    sqlstate: '53300',
    team: 'a "b"\n',
    tag_msg: 'of the tag',
  });
});

test('a line without a request has no members about one', () => {
  expect(Object.keys(parsed({ message: 'start' }))).toEqual(['timestamp', 'level', 'pid', 'tid', 'msg']);
});

test('tags stand at the end of a line of text, escaped; the ids do not', () => {
  const text = errorText(line({ message: 'no', context: { client: '10.0.0.1', about } }));
  expect(text).toBe(`${process.pid}#3: no, client: 10.0.0.1, team: "a \\x22b\\x22\\x0A", msg: "of the tag"`);
});

test.each([
  ['connecting to postgres://ann:s3cret@db/app failed', 'connecting to postgres://ann:***@db/app failed'],
  ['redis://:s3cret@h:6379 is away', 'redis://:***@h:6379 is away'],
  ['http://h:80/a@b', 'http://h:80/a@b'],
])('the message %j is logged as %j', (message, masked) => {
  expect(parsed({ message })['msg']).toBe(masked);
  expect(errorText(line({ message }))).toContain(masked);
});

const long = [
  { it: 'the message', message: 'm'.repeat(9_000), request: 'GET / HTTP/1.1', cut: ['msg'] },
  { it: 'the request', message: 'short', request: `GET /${'é'.repeat(9_000)} HTTP/1.1`, cut: ['request'] },
  {
    it: 'both, where control bytes take six bytes each',
    message: '\x01'.repeat(3_000),
    request: `GET /${'\u2028'.repeat(3_000)} HTTP/1.1`,
    cut: ['msg', 'request'],
  },
];
for (const { it, message, request, cut } of long) {
  test(`a line of JSON that is too long is cut at ${it}, and stays JSON`, () => {
    const text = jsonLine(line({ message, context: { client: '10.0.0.1', request, about } }));
    expect(Buffer.byteLength(text)).toBeLessThan(4096);
    const members = JSON.parse(text) as Record<string, string | number>;
    expect(members).toMatchObject({ client: '10.0.0.1', request_id: about.requestId, truncated: 1 });
    const whole = { msg: message, request };
    const isCut = (name: 'msg' | 'request') => members[name] !== whole[name];
    expect(Object.keys(whole).filter((name) => isCut(name as 'msg'))).toEqual(cut);
    for (const name of cut) expect(whole[name as 'msg'].startsWith(String(members[name]))).toBe(true);
  });
}

test('sixteen long tags are cut before what names the request', () => {
  const tags = Array.from({ length: 16 }, (_, i) => [`t${i}`, 'v'.repeat(5_000)] as const);
  const context = { request: 'GET /a HTTP/1.1', about: { ...about, tags } };
  const text = jsonLine(line({ message: 'm'.repeat(100), context }));
  expect(Buffer.byteLength(text)).toBeLessThan(4096);
  expect(JSON.parse(text)).toMatchObject({ msg: 'm'.repeat(100), request: 'GET /a HTTP/1.1', truncated: 1 });
});

const strings = [
  ['a "quoted" \\ text', '"a \\"quoted\\" \\\\ text"'],
  ['\b\f\n\r\t\0\x1b\x7f\x9f', '"\\b\\f\\n\\r\\t\\u0000\\u001b\\u007f\\u009f"'],
  ['\u2028\u2029', '"\\u2028\\u2029"'],
  ['\ud800', '"\ufffd"'],
  ['\udc00a', '"\ufffda"'],
  ['\ud83d\ude00', '"\ud83d\ude00"'],
  ['\ud83d\ude00\ude00', '"\ud83d\ude00\ufffd"'],
  ['\ud83d\ud83d\ude00', '"\ufffd\ud83d\ude00"'],
];
test.each(strings)('%j is written as %s', (text, written) => {
  expect(jsonString(text)).toBe(written);
});

test('lines of random bytes are JSON on one line, of at most 4,095 bytes, in valid UTF-8', () => {
  let seed = 42;
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return seed % below;
  };
  const longest = [8, 64, 6_000] as const;
  const text = (): string => {
    const length = random(longest[random(20) === 0 ? 2 : random(2)] ?? 8);
    const bytes = Buffer.from(Array.from({ length }, () => random(256)));
    return random(2) === 0 ? bytes.toString() : bytes.toString('utf16le');
  };
  const bad: string[] = [];
  for (let round = 0; round < perTier({ short: 3_000, long: 1_000_000 }); round++) {
    const context = {
      request: text(),
      host: text(),
      referrer: text(),
      about: { ...about, tags: [['t', text()] as const] },
    };
    const written = jsonLine(line({ message: text(), context }));
    const bytes = Buffer.from(written);
    JSON.parse(written);
    if (bytes.length > 4_095 || written.includes('\n') || bytes.toString() !== written) bad.push(written);
  }
  expect(bad).toEqual([]);
});
