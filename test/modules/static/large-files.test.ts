import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, readlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type Gateway, type Owner, startGateway } from '../../harness/gateway.ts';

const MB = 1024 * 1024;
const CLIENTS = 200;

interface Site {
  readonly gw: Gateway;
  readonly path: string;
  readonly content: Buffer;
}

async function startSite(t: Owner, bytes: number, server = ''): Promise<Site> {
  const gw = await startGateway(
    t,
    `server { root site; ${server} location /cached/ { alias site/; open_file_cache max=10; } }`,
    {
      files: { 'site/small': '' },
    },
  );
  const path = join(gw.dir, 'site/large');
  const content = randomBytes(bytes);
  writeFileSync(path, content);
  return { gw, path, content };
}

const sum = (bytes: Uint8Array): string => createHash('sha1').update(bytes).digest('hex');

/** Returns the number of descriptors of this file in the processes of the gateway. */
function timesOpen(path: string, pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).filter((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`) === path;
    } catch {
      return false;
    }
  }).length;
}

async function untilClosed(path: string, pid: number): Promise<void> {
  while (timesOpen(path, pid) > 0) await sleep(10);
}

/** Resident memory of the process, in bytes. */
function residentBytes(pid: number): number {
  return Number(/VmRSS:\s*(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}

/** The process that serves, which is the one that has the port. */
function workerPid(gw: Gateway): number {
  const children = readFileSync(`/proc/${gw.pid}/task/${gw.pid}/children`, 'utf8').trim().split(' ');
  // A process that copies sockets runs only for a moment.
  const isServing = (pid: string): boolean =>
    !readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('socket copies');
  return Number(children.filter(Boolean).find(isServing)) || gw.pid;
}

for (const location of ['/', '/cached/']) {
  test(`a large file below ${location} arrives as it is, whole and in parts`, async (t) => {
    const { gw, path, content } = await startSite(t, 5 * MB + 12_345);
    const whole = await gw.fetch(`${location}large`);
    expect([whole.status, whole.headers.get('content-length')]).toEqual([200, String(content.length)]);
    expect(sum(whole.bytes)).toBe(sum(content));
    const range = { headers: { range: 'bytes=1000000-4999999' } };
    const part = await gw.fetch(`${location}large`, range);
    expect(part.headers.get('content-range')).toBe(`bytes 1000000-4999999/${content.length}`);
    expect(sum(part.bytes)).toBe(sum(content.subarray(1_000_000, 5_000_000)));
    const head = await gw.fetch(`${location}large`, { method: 'HEAD' });
    expect([head.headers.get('content-length'), head.body]).toEqual([String(content.length), '']);
    if (location === '/') await untilClosed(path, workerPid(gw));
  });
}

test('several parts of a large file arrive between their boundaries', async (t) => {
  const { gw, content } = await startSite(t, MB);
  const response = await gw.fetch('/large', { headers: { range: 'bytes=0-499999,500000-500000,-200000' } });
  const [, boundary = ''] = /boundary=(\d{20})$/.exec(response.headers.get('content-type') ?? '') ?? [];
  const ends = [
    [0, 500_000],
    [500_000, 500_001],
    [MB - 200_000, MB],
  ] as const;
  const parts = ends.flatMap(([from, to]) => [
    Buffer.from(
      `\r\n--${boundary}\r\nContent-Type: text/plain\r\nContent-Range: bytes ${from}-${to - 1}/${MB}\r\n\r\n`,
    ),
    content.subarray(from, to),
  ]);
  const expected = Buffer.concat([...parts, Buffer.from(`\r\n--${boundary}--\r\n`)]);
  expect(response.headers.get('content-length')).toBe(String(expected.length));
  expect(sum(response.bytes)).toBe(sum(expected));
});

/** A client that reads the first bytes of the response and then nothing more. */
async function startSlowClient(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.on('error', () => undefined);
  socket.write('GET /large HTTP/1.1\r\nHost: a\r\n\r\n');
  await once(socket, 'readable');
  return socket;
}

/** The body of the response, of so many bytes. */
async function readResponse(socket: Socket, bytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let missing = Infinity;
  while (missing > 0) {
    const chunk = socket.read() as Buffer | null;
    if (chunk === null) {
      await once(socket, 'readable');
      continue;
    }
    if (chunks.length === 0) missing = chunk.indexOf('\r\n\r\n') + 4 + bytes;
    missing -= chunk.length;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).subarray(-bytes);
}

test(`${CLIENTS} clients that do not read on take little memory and leave no file open`, async (t) => {
  const { gw, path, content } = await startSite(t, 100 * MB);
  const pid = workerPid(gw);
  const before = residentBytes(pid);
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => startSlowClient(gw.port)));
  t.onTestFinished(() => {
    for (const client of clients) client.destroy();
  });
  expect(timesOpen(path, pid)).toBe(CLIENTS);
  // 20 GB wait to be sent; 64 KB each are in memory.
  expect(residentBytes(pid) - before).toBeLessThan(100 * MB);
  const [first, ...others] = clients as [Socket, ...Socket[]];
  for (const client of others) client.destroy();
  const response = await readResponse(first, content.length);
  expect(sum(response)).toBe(sum(content));
  first.destroy();
  await untilClosed(path, pid);
});

test('slow and fast readers of a large file leave the worker to others', async (t) => {
  const { gw, content } = await startSite(t, 5 * MB, 'location = /ok { return 200 ok; }');
  const slow = await Promise.all(Array.from({ length: 40 }, () => startSlowClient(gw.port)));
  t.onTestFinished(() => {
    for (const client of slow) client.destroy();
  });
  let isOver = false;
  const fast = Promise.all(Array.from({ length: 10 }, () => gw.fetch('/large'))).finally(
    () => (isOver = true),
  );
  let responses = 0;
  for (; !isOver; responses++) await gw.expect('GET /ok', { status: 200, body: 'ok' });
  expect(responses).toBeGreaterThan(0);
  for (const { bytes } of await fast) expect(sum(bytes)).toBe(sum(content));
});

test('a file that becomes shorter while it is sent cuts the connection', async (t) => {
  const gw = await startGateway(t, 'server { root site; }', { files: { 'site/x': '' }, expectAlerts: true });
  const path = join(gw.dir, 'site/large');
  writeFileSync(path, Buffer.alloc(50 * MB));
  const client = await startSlowClient(gw.port);
  truncateSync(path, MB);
  client.resume();
  await once(client, 'close');
  expect(client.bytesRead).toBeLessThan(50 * MB);
  await gw.waitForLog(/\[alert\] .*pread\(\) read only \d+ of \d+ from "\/.*\/site\/large", client/);
  await untilClosed(path, workerPid(gw));
});
