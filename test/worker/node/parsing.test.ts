import { createServer, type Server } from 'node:http';
import { Duplex } from 'node:stream';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { HeadProgress, HeadReader } from '../../../src/worker/transport/node/head-reader.ts';
import { RequestSource } from '../../../src/worker/transport/node/request-source.ts';
import { portOf } from './port.ts';

/** A request as a parser understands it. */
interface Understood {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly string[];
  readonly body: string;
}

const NO_FLOW = { pause: () => undefined, resume: () => undefined };

/** The result of the node engine for some bytes: the requests until one is refused or incomplete. */
function ours(bytes: Buffer): Understood[] {
  const reader = new HeadReader(portOf());
  const requests: Understood[] = [];
  for (let rest = bytes; rest.length > 0;) {
    const seen = new HeadProgress();
    rest = seen.withoutBlankLines(rest);
    const head = reader.read(rest, seen);
    if (!head || head.refusal !== 0 || head.isHttp09) break;
    let body = '';
    const source = new RequestSource(head.facts.contentLength, NO_FLOW);
    source.onData((chunk) => (body += chunk.toString('latin1')));
    rest = rest.subarray(head.bytes);
    if (!source.isComplete) rest = rest.subarray(source.take(rest));
    if (!source.isComplete) break;
    requests.push({ method: head.facts.method, target: head.facts.requestUri, headers: head.headers, body });
  }
  return requests;
}

/** A single strict parser for all cases: node:http with its own llhttp. */
const parsed: Understood[] = [];
const server: Server = createServer((request, response) => {
  const { method = '', url: target = '', rawHeaders } = request;
  const headers = rawHeaders.map((text, index) => (index % 2 === 0 ? text.toLowerCase() : text));
  let body = '';
  request.setEncoding('latin1').on('data', (text: string) => (body += text));
  request.on('end', () => {
    parsed.push({ method, target, headers, body });
    response.end();
  });
});

afterAll(() => void server.close());

/** The same result from node:http. */
async function theirs(bytes: Buffer): Promise<Understood[]> {
  parsed.length = 0;
  const socket = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
  socket.on('error', () => undefined);
  server.emit('connection', socket);
  socket.push(bytes);
  for (let turn = 0; turn < 6; turn++) await new Promise((resolve) => setImmediate(resolve));
  socket.destroy();
  return [...parsed];
}

const HOST = 'Host: a.example\r\n';
const seeds = [
  `GET /a?b=c HTTP/1.1\r\n${HOST}X-A: 1\r\nX-A:2 \r\n\r\nGET /b HTTP/1.1\r\n${HOST}\r\n`,
  `POST / HTTP/1.1\r\n${HOST}Content-Length: 5\r\n\r\nhelloGET /b HTTP/1.1\r\n${HOST}\r\n`,
  `POST / HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\na;x=y\r\n0123456789\r\n0\r\n\r\nGET /b HTTP/1.1\r\n${HOST}\r\n`,
  `POST / HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\nX: y\r\n\r\n3\r\nabc\r\n0\r\nT: u\r\n\r\nPUT /c HTTP/1.1\r\n${HOST}Content-Length: 1\r\n\r\nx`,
  `HEAD / HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\nGET / HTTP/1.1\r\n${HOST}\r\n`,
];

const PIECES = [
  ['\r\n', '\n', '\r', ' ', '\t', ':', ';', '0', 'f', 'G', '\0', '\x0b', '\x7f', '\xff', '-', '+', ',', '"'],
  [
    '\r\n\r\n',
    'Content-Length: 3\r\n',
    'Transfer-Encoding: chunked\r\n',
    'Content-Length: 0\r\n',
    'X: y\r\n',
  ],
  ['chunked', '0\r\n\r\n', 'GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n', ' HTTP/1.1', 'Host: b\r\n', '5\r\n'],
].flat();

const damaged = fc
  .record({
    seed: fc.constantFrom(...seeds),
    changes: fc.array(
      fc.record({
        where: fc.double({ min: 0, max: 1, noNaN: true }),
        remove: fc.nat(4),
        insert: fc.option(fc.constantFrom(...PIECES)),
      }),
      { maxLength: 3 },
    ),
  })
  .map(({ seed, changes }) =>
    changes.reduce((bytes, { where, remove, insert }) => {
      const at = Math.floor(where * bytes.length);
      return bytes.slice(0, at) + (insert ?? '') + bytes.slice(at + remove);
    }, seed),
  );

/** Differences that are intended: names that are dropped, and blanks around values. */
function plain({ method, target, headers, body }: Understood): unknown {
  const kept: string[] = [];
  for (let index = 0; index < headers.length; index += 2) {
    const [name = '', value = ''] = headers.slice(index, index + 2);
    if (/^[a-z0-9-]+$/.test(name)) kept.push(name, value.trim());
  }
  const text = kept.map((value) => Buffer.from(value, 'latin1').toString());
  return { method, target, body, headers: text.map((value) => Buffer.from(value).toString('latin1')) };
}

test('a request that both the node engine and node:http accept is the same for both', async () => {
  let compared = 0;
  await fc.assert(
    fc.asyncProperty(damaged, async (text) => {
      const bytes = Buffer.from(text, 'latin1');
      const [mine, others] = [ours(bytes), await theirs(bytes)];
      const shared = Math.min(mine.length, others.length);
      compared += shared;
      const understood = (requests: readonly Understood[]): unknown[] => requests.slice(0, shared).map(plain);
      expect(understood(mine), JSON.stringify(text)).toEqual(understood(others));
    }),
    { numRuns: 3000 },
  );
  expect(compared).toBeGreaterThan(1000);
});

test('bytes that come one by one are read as those that come at once', () => {
  fc.assert(
    fc.property(damaged, (text) => {
      const bytes = Buffer.from(text, 'latin1');
      const reader = new HeadReader(portOf());
      const atOnce = new HeadProgress();
      const whole = reader.read(atOnce.withoutBlankLines(bytes), atOnce);
      const seen = new HeadProgress();
      let pending = Buffer.alloc(0);
      for (const byte of bytes) {
        pending = Buffer.from(seen.withoutBlankLines(Buffer.concat([pending, Buffer.from([byte])])));
        const head = reader.read(pending, seen);
        if (!head) continue;
        // A request that is refused early may be refused for only some of its faults.
        if (head.refusal === 0) expect(head, JSON.stringify(text)).toEqual(whole);
        else expect(whole?.refusal, JSON.stringify(text)).not.toBe(0);
        return;
      }
      expect(whole).toBeUndefined();
    }),
    { numRuns: 1000 },
  );
});

test.each([
  ['in one piece', 1],
  ['byte by byte', 0],
])('a chunked body is decoded %s', (_, whole) => {
  const bytes = Buffer.from('5\r\nhello\r\nA ;a="b"\r\n0123456789\r\n0\r\nT: u\r\n\r\nrest');
  const source = new RequestSource(-1, NO_FLOW);
  let body = '';
  source.onData((chunk) => (body += chunk.toString()));
  let taken = 0;
  if (whole) taken = source.take(bytes);
  else for (const byte of bytes) if (!source.isComplete) taken += source.take(Buffer.from([byte]));
  expect({ body, taken, left: bytes.subarray(taken).toString() }).toEqual({
    body: 'hello0123456789',
    taken: bytes.length - 4,
    left: 'rest',
  });
});
