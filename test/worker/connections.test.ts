import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ON_NODE_ENGINE } from '../harness/engine.ts';
import { type Gateway, type GatewayOptions, GW, type Owner, startGateway } from '../harness/gateway.ts';
import { connectRaw } from '../harness/raw.ts';

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const CONF = `server { location / { return 200 ok; } location /status { stub_status; } location /file { root .; }
  location /upload { kv_pass embedded:kv; kv_command set; kv_key k; } }`;
const UPLOAD = 'POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n';
const CLOCK_TICKS = 100;

/** A client that is silent until told otherwise. */
interface Client {
  readonly socket: Socket;
  readonly received: () => string;
}

async function clients(gw: Gateway, count: number): Promise<readonly Client[]> {
  const made: Client[] = [];
  for (let index = 0; index < count; index++) {
    const socket = connect({ port: gw.port, host: '127.0.0.1', allowHalfOpen: true });
    let text = '';
    socket.setEncoding('latin1').on('data', (piece: string) => (text += piece));
    socket.on('error', () => undefined).on('end', () => socket.destroy());
    await once(socket, 'connect');
    made.push({ socket, received: () => text });
  }
  return made;
}

const isOpen = ({ socket }: Client): boolean => !socket.destroyed;

async function leave(all: readonly Client[]): Promise<void> {
  for (const { socket } of all) socket.destroy();
  await Promise.resolve();
}

/** What the gateway sends on a new connection; '' where it closes the connection. */
async function visit(gw: Gateway): Promise<string> {
  const connection = await connectRaw(gw.port);
  connection.write(GET);
  await connection.until(/ok$/).catch(() => undefined);
  connection.destroy();
  return connection.received();
}

/** The gateway with this number of descriptors. */
async function startPoor(t: Owner, descriptors: number, options: GatewayOptions = {}): Promise<Gateway> {
  const dir = mkdtempSync(join(tmpdir(), 'gw-poor-'));
  t.onTestFinished(async () => rmSync(dir, { recursive: true }));
  const program = join(dir, 'gw.cjs');
  writeFileSync(
    program,
    `const { spawn } = require('node:child_process');
     const [, , ...args] = process.argv;
     const child = spawn('sh', ['-c', 'ulimit -n ${descriptors}; exec "$@"', 'sh', process.execPath, ${JSON.stringify(GW)}, ...args], { stdio: 'inherit' });
     for (const signal of ['SIGTERM', 'SIGQUIT']) process.on(signal, () => child.kill(signal));
     child.on('exit', (code, signal) => (signal ? process.kill(process.pid, signal) : process.exit(code)));`,
  );
  chmodSync(program, 0o755);
  return startGateway(t, CONF, { program, expectAlerts: true, files: { file: 'content' }, ...options });
}

/** CPU time of a process and its children, in seconds. */
function cpuSeconds(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  const own = (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS;
  return children.reduce((sum, child) => sum + cpuSeconds(Number(child)), own);
}

const linesOf = (gw: Gateway, pattern: RegExp): number => gw.errorLog().match(pattern)?.length ?? 0;

test('worker_connections bounds the clients of a worker, which logs it once and admits others when some leave', async (t) => {
  const gw = await startGateway(t, CONF, { main: 'events { worker_connections 20; }', expectAlerts: true });
  const first = await clients(gw, 20);
  // The connections are no longer idle: the gateway waits for their uploads.
  for (const { socket } of first) socket.write(UPLOAD);
  for (const { received } of first) await expect.poll(received).toContain('100 Continue');
  for (let index = 0; index < 30; index++) expect(await visit(gw)).toBe('');
  expect(linesOf(gw, /\[alert\] .*20 worker_connections are not enough\n/g)).toBe(1);
  await leave(first.slice(0, 10));
  await expect.poll(() => visit(gw)).toMatch(/ok$/);
  expect(first.slice(10).every(isOpen)).toBe(true);
  const status = (await gw.fetch('/status')).body;
  const [, accepts = '', handled = ''] = /(\d+) (\d+) \d+/.exec(status) ?? [];
  expect(Number(accepts) - Number(handled)).toBeGreaterThanOrEqual(30);
  await leave(first);
});

test('idle connections are closed to make room where the engine knows them, otherwise responses close theirs', async (t) => {
  const gw = await startGateway(t, CONF, { main: 'events { worker_connections 10; }', expectAlerts: true });
  const idle = await clients(gw, 10);
  if (ON_NODE_ENGINE) {
    for (let index = 0; index < 5; index++) expect(await visit(gw)).toMatch(/ok$/);
    expect(idle.slice(5).every(isOpen)).toBe(true);
    const lines = linesOf(gw, /\[warn\] .*10 worker_connections are not enough, reusing connections\n/g);
    expect(lines).toBeGreaterThan(0);
    // At most one a second, however many there are.
    expect(lines).toBeLessThan(5);
  } else {
    for (const { socket } of idle) socket.write(GET);
    await expect.poll(() => idle.some(isOpen)).toBe(false);
    expect(idle.map(({ received }) => received()).join('')).toMatch(/Connection: close/i);
    expect(await visit(gw)).toMatch(/ok$/);
  }
  await leave(idle);
});

/** Idle connections are reused while there are any, then clients are refused; each of the two is logged once. */
const MOST_LINES = ON_NODE_ENGINE ? 2 : 1;

test('a gateway without descriptors for more clients stops accepting, logs it once each time, and recovers', async (t) => {
  const gw = await startPoor(t, 120);
  const idle = await clients(gw, 110);
  const lines = (): number => linesOf(gw, /24: Too many open files/g);
  await expect.poll(lines).toBeGreaterThan(0);
  const before = cpuSeconds(gw.pid);
  const started = Date.now();
  for (let index = 0; index < 50; index++) expect(await visit(gw)).toMatch(ON_NODE_ENGINE ? /ok$/ : /^$/);
  const [spent, passed] = [cpuSeconds(gw.pid) - before, (Date.now() - started) / 1000];
  expect(spent).toBeLessThan(passed + 0.5);
  const first = lines();
  expect(first).toBeLessThanOrEqual(MOST_LINES);
  await leave(idle);
  await expect.poll(() => visit(gw)).toMatch(/ok$/);
  await gw.expect('GET /file', { status: 200, body: 'content' });
  // With room for all clients connections stay open again, and the next shortage is logged.
  expect(await visit(gw)).not.toMatch(/Connection: close/i);
  const again = await clients(gw, 110);
  await expect.poll(lines).toBeGreaterThan(first);
  expect(lines()).toBeLessThanOrEqual(first + MOST_LINES);
  await leave(again);
});
