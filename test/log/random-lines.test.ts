import { randomBytes } from 'node:crypto';
import { expect, test, vi } from 'vitest';
import { jsonLine } from '../../src/log/error-line.ts';
import { jsonText } from '../../src/log/json-text.ts';
import { startGateway } from '../harness/gateway.ts';
import { perTier } from '../harness/tier.ts';

const LINES = perTier({ short: 5_000, long: 1_000_000 });
const REQUESTS = perTier({ short: 200, long: 10_000 });
const MAX_LINE_BYTES = 4096;

/** What JSON, UTF-8, terminals and JavaScript have their troubles with. */
const TROUBLES = [
  '"',
  '\\',
  '\\u0000',
  '\u2028',
  '\u2029',
  '\u0085',
  '\u001b[31m',
  '\ud800',
  '\udc00',
  '😀',
  'é',
  '%22',
  '\n',
  '\r',
  '\0',
];

/** Taken from at random places: fresh ones would take longer than the lines. */
const BYTES = randomBytes(1_048_576);

function randomInt(below: number): number {
  return Math.floor(Math.random() * below);
}

/** A text of random bytes, with troubles in between. */
function randomText(): string {
  const isLong = randomInt(50) === 0;
  const at = randomInt(BYTES.length - 10_000);
  const bytes = BYTES.toString(
    randomInt(2) === 0 ? 'latin1' : 'utf8',
    at,
    at + randomInt(isLong ? 9_000 : 60),
  );
  const trouble = TROUBLES[randomInt(TROUBLES.length)] as string;
  return bytes + trouble.repeat(randomInt(isLong ? 3_000 : 3)) + bytes.slice(0, randomInt(60));
}

// eslint-disable-next-line no-control-regex -- it looks for control bytes
const UNSAFE = /[\0-\x1f\x7f-\x9f\u2028\u2029]|\p{Surrogate}/u;

test(
  'a line of random bytes is one object of JSON of at most 4 KB, and safe for terminals',
  { timeout: 1_200_000 },
  () => {
    let good = 0;
    for (let nth = 0; nth < LINES; nth++) {
      const tags = Array.from({ length: randomInt(4) }, (_, tag) => [`tag${tag}`, randomText()] as const);
      const about = { requestId: randomText(), traceId: undefined, spanId: undefined, tags };
      const context = {
        client: '::1',
        server: randomText(),
        request: randomText(),
        host: randomText(),
        about,
      };
      const line = jsonLine({ level: 'error', message: randomText(), context, timeMs: nth, tid: 1 });
      if (UNSAFE.test(line) || Buffer.byteLength(line) >= MAX_LINE_BYTES) throw new Error(`unsafe: ${line}`);
      // An expectation would take longer than the line.
      if ((JSON.parse(line) as { level: unknown }).level === 'error') good++;
    }
    expect(good).toBe(LINES);
  },
);

test('an object with random texts is one line of JSON, and safe for terminals', () => {
  for (let nth = 0; nth < LINES / 10; nth++) {
    const text = randomText();
    const line = jsonText({ nth, [`name${text}`]: [text, { text }] });
    if (UNSAFE.test(line)) throw new Error(`unsafe: ${line}`);
    if ((JSON.parse(line) as { nth: unknown }).nth !== nth) throw new Error(`not the object: ${line}`);
  }
  expect(jsonText({ text: '\u2028' })).toBe('{"text":"\\u2028"}');
});

/** uWebSockets.js refuses controls by itself. */
function randomValue(): Buffer {
  const bytes = Buffer.from(randomText()).map((byte) => (byte < 0x20 || byte === 0x7f ? 0x41 : byte));
  return Buffer.from(bytes).subarray(0, 1_000);
}

function randomRequest(): Buffer {
  const target = randomValue()
    .toString('latin1')
    .replace(/[^\x21-\x7e]/g, 'a')
    .slice(0, 500);
  const line = `GET /${target}?t=${target} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n`;
  const pieces = [`${line}User-Agent: `, randomValue(), '\r\nReferer: ', randomValue(), '\r\n\r\n'];
  return Buffer.concat(
    pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece)),
  );
}

test('requests of random bytes leave lines of JSON in all logs', { timeout: 1_200_000 }, async (t) => {
  const logs = ['access.json', 'full.json', 'error.json', 'slow.json'];
  const gw = await startGateway(
    t,
    (dir) => `log_subrequest off; access_log ${dir}/access.json json; access_log ${dir}/full.json json_full;
     slow_log ${dir}/slow.json request=0 rate=100000/s; error_log_tag level $arg_t; error_log_tag agent $http_user_agent;
     server { error_log ${dir}/error.json info format=json; root ${dir}/missing; }`,
  );
  for (let nth = 0; nth < REQUESTS; nth++) await gw.raw(randomRequest());
  const { status } = await gw.fetch('/last');
  expect(status).toBe(404);
  await vi.waitFor(() => {
    for (const log of ['error.json', 'access.json']) expect(gw.read(log)).toContain('/last');
  }, 10_000);
  for (const log of logs) {
    const lines = gw.read(log).split('\n').slice(0, -1);
    expect(lines.length, log).toBeGreaterThan(0);
    for (const line of lines) {
      if (UNSAFE.test(line)) throw new Error(`unsafe in ${log}: ${line}`);
      expect(JSON.parse(line)).toBeTypeOf('object');
    }
  }
  expect(jsonLine({ level: 'error', message: '', context: undefined, timeMs: 0, tid: 1 })).toContain(
    '"level":"error"',
  );
});
