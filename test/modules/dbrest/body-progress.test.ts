import { readFileSync, writeFileSync } from 'node:fs';
import { beforeAll, expect, test } from 'vitest';
import { parseCallBody, type ReceivedBody, readWritten } from '../../../src/modules/dbrest/request/index.ts';
import { type Turn, turnsFor } from '../../../src/modules/dbrest/event-loop.ts';
import { type Gateway, startGateway } from '../../harness/gateway.ts';
import { wholeFile } from '../../harness/owner.ts';
import { postgres } from '../../harness/postgres.ts';
import { perTier } from '../../harness/tier.ts';

const FORM = 'application/x-www-form-urlencoded';
const ALL_BYTES = Array.from({ length: 256 }, (_, byte) => byte);
/** All bytes, or the special ones of each parser and some ordinary ones. */
const BYTES = perTier({
  short: [...Buffer.from('\0\t\n\r "#%&+,.0:;=A[\\]a{}\xff', 'latin1')],
  long: ALL_BYTES,
});
/** Sizes around that of one piece of a body, and around twice that size. */
const SIZES = perTier({ short: [65_537], long: [65_535, 65_536, 65_537, 65_538, 131_073] });
const SMALLEST_PIECE = 32_768;

/** Every parser of bodies that works in pieces, and the bytes in front of the repeated one. */
const parsers: [type: string, front: string][] = [
  [FORM, ''],
  [FORM, 'a='],
  [FORM, 'a=1&bc='],
  ['text/csv', ''],
  ['text/csv', 'a\n'],
  ['text/csv', 'a\n"'],
  ['application/json', ''],
  ['application/json', '"'],
  ['application/json', '[{"a":"\\'],
  ['application/json', '{"'],
  ['application/json', '{"a":'],
];

/** Reads a body as a write does, and JSON as a call does too. `most`: turns after which the client leaves. */
async function turnsOf(type: string, bytes: Buffer, most: number): Promise<number[]> {
  const counts: number[] = [];
  const asWritten = (body: ReceivedBody) => readWritten(body, { named: false, nests: true });
  const asCalled = (body: ReceivedBody) => parseCallBody(body, undefined);
  for (const read of type.endsWith('json') ? [asWritten, asCalled] : [asWritten]) {
    let turns = 0;
    const client = { aborted: false };
    const next = turnsFor(client);
    const turn: Turn = () => {
      turns += 1;
      client.aborted = turns > most;
      return next();
    };
    await read({ type, bytes, turn }).catch(() => undefined);
    counts.push(turns);
  }
  return counts;
}

test.each(parsers)('%s: %j and any byte, many times, ends', async (type, front) => {
  for (const size of SIZES) {
    const most = 2 * Math.ceil(size / SMALLEST_PIECE) + 1;
    for (const byte of BYTES) {
      const bytes = Buffer.concat([Buffer.from(front), Buffer.alloc(size, byte)]);
      for (const turns of await turnsOf(type, bytes, most)) {
        expect({ byte, size, turns: Math.min(turns, most) }).toEqual({ byte, size, turns });
      }
    }
  }
});

const long: [type: string, front: string, unit: string][] = [
  [FORM, 'a=', 'b'],
  [FORM, 'a=', '%41'],
  ['text/csv', 'a\n', 'b'],
  ['text/csv', 'a\n', 'b\n'],
  ['application/json', '{"a":"', 'b'],
  ['application/json', '[', '{"a":1},'],
];
test.each(long)(
  '%s: %j and %j, many times, is not read on when the client has left',
  async (type, front, unit) => {
    const bytes = Buffer.from(front + unit.repeat(Math.ceil(2_000_000 / unit.length)));
    for (const most of [0, 1, 3]) {
      for (const turns of await turnsOf(type, bytes, most)) expect(turns).toBe(most + 1);
    }
  },
);

const file = wholeFile();
let gw: Gateway;
beforeAll(async () => {
  const db = await postgres('create table t (a text); grant all on t to anon;');
  gw = await startGateway(
    file,
    `client_max_body_size 64m;
     server {
       location / { return 200 ok; }
       location /api/ { dbrest_pass ${db.dsn}; dbrest_anon_role anon; }
     }`,
  );
});

/** Requests that never reach the database: they are malformed, or their name is unknown. */
const paths: [path: string, type: string, front: string][] = [
  ['/api/absent', FORM, 'a='],
  ['/api/rpc/absent', FORM, 'a='],
  ['/api/absent', 'text/csv', 'a\n'],
  ['/api/rpc/absent', 'application/json', '"'],
];
test.each(paths)(
  'POST %s with %s: any byte, many times, cut anywhere, gets a response',
  async (path, type, front) => {
    const size = 65_538;
    for (const byte of BYTES) {
      const connection = await gw.connect();
      const body = Buffer.concat([Buffer.from(front), Buffer.alloc(size, byte)]);
      connection.write(
        `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n`,
      );
      const cut = front.length + byte * 255;
      connection.write(body.subarray(0, cut));
      await new Promise((resolve) => setImmediate(resolve));
      connection.write(body.subarray(cut));
      expect(await connection.until(/\r\n\r\n/)).toMatch(/^HTTP\/1\.1 4\d\d /);
      connection.destroy();
    }
  },
);

/** The peak resident memory of the process with the workers. */
function peakBytes(): number {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${gw.pid}/status`, 'latin1'))?.[1]) * 1024;
}

/** Resets the peak to the memory that is resident now (proc(5), clear_refs). */
function forgetPeak(): void {
  writeFileSync(`/proc/${gw.pid}/clear_refs`, '5');
}

/** Growth of the heap before garbage is collected, which a busy machine does later. */
const GARBAGE_BYTES = 32_000_000;
const LARGE_BYTES = perTier({ short: 5_000_000, long: 30_000_000 });
const heavy: [type: string, front: string, unit: string][] = [
  [FORM, '', 'a&'],
  [FORM, '', '&'],
  [FORM, '', 'a=%'],
  ['text/csv', '', ','],
  ['text/csv', 'a\n', ','],
  ['text/csv', 'a\n', ',\r'],
  ['application/json', '{', '"a":1,'],
  ['application/json', '[{"a":1},{', '"a":1,'],
  ['application/json', '[{"a":1},{', '"b":1,'],
  ['application/json', '', '['],
  ['application/json', '[', '{},'],
];
test.each(heavy)('%s: %j and %j, many times, takes no more memory than usual', async (type, front, unit) => {
  const body = front + unit.repeat(LARGE_BYTES / unit.length);
  forgetPeak();
  const before = peakBytes();
  const headers = { 'content-type': type };
  for (const path of ['/api/t', '/api/rpc/absent']) {
    const { status } = await gw.fetch(path, { method: 'POST', headers, body });
    expect([201, 400, 404]).toContain(status);
  }
  await gw.expect('GET /', { status: 200 });
  expect(peakBytes() - before).toBeLessThan(3 * LARGE_BYTES + GARBAGE_BYTES);
});
