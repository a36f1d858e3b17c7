import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from './gateway.ts';
import { type Owner, wholeFile } from './owner.ts';

/** A program that starts, stops and logs like a gateway; `http` is JavaScript that makes it misbehave. */
const FAKE = `
  import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
  import { createServer } from 'node:http';
  import { spawn } from 'node:child_process';
  const dir = process.argv[3];
  const log = (line) => appendFileSync(dir + '/error.log', line + '\\n');
  const read = () => readFileSync(dir + '/gw.conf', 'utf8');
  const port = /listen 127.0.0.1:(\\d+)/.exec(read())[1];
  const server = createServer((request, response) => {
    response.setHeader('X-Path', request.url).end(JSON.stringify({ method: request.method }));
  });
  writeFileSync(dir + '/gw.pid', String(process.pid));
  process.on('SIGTERM', () => process.exit(0));
  process.on('SIGHUP', () => log('[notice] ' + (read().includes('broken') ? 'reload refused' : 'reload done')));
  const misbehave = () => eval(/js (.*);;/.exec(read())?.[1] ?? '');
  server.listen(port, '127.0.0.1', () => { log('[notice] start worker processes'); misbehave(); });
`;
let dir: string;
let program: string;

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'gw-fake-'));
  program = join(dir, 'fake.mjs');
  writeFileSync(program, FAKE);
});
afterAll(() => rmSync(dir, { recursive: true }));

let shared: Gateway;
// Vitest runs the last hook first, so this one runs after that of `wholeFile`. It times out if nothing was stopped.
afterAll(() => shared.ended());
const file = wholeFile();
beforeAll(async () => {
  shared = await startGateway(file, 'server { }', { program });
});

/** Replaces a test's context: `finish` runs the hooks of the end of a test. */
function owner(): Owner & { finish(): Promise<void> } {
  let stop = (): Promise<void> => Promise.resolve();
  return { onTestFinished: (given) => void (stop = given), finish: () => stop() };
}

test('a whole file can share one gateway', async () => {
  await shared.expect('GET /', { status: 200 });
});

test('the harness calls the gateway, compares, reloads and stops it', async (t) => {
  const gw = await startGateway(t, 'server { }', { program });
  await gw.expect('PUT /a/../b?n=1', {
    status: 200,
    json: { method: 'PUT' },
    headers: { 'x-path': '/a/../b?n=1', etag: null },
  });
  await expect(gw.expect('GET /', { body: 'other' })).rejects.toThrow('GET / → 200 {"method":"GET"}');
  expect(await gw.raw('GET /raw HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')).toMatch(
    /^HTTP\/1.1 200 OK\r\nX-Path: \/raw/,
  );
  expect(await gw.reload('server { }')).toBe('done');
  expect(await gw.reload('broken; server { }')).toBe('refused');
  await gw.stop();
  await expect(gw.fetch('/')).rejects.toThrow('ECONNREFUSED');
});

const faults = [
  {
    it: 'leaves an alert',
    js: 'log("[alert] worker 1 died")',
    message: 'the gateway left alerts:\n[alert] worker 1 died',
  },
  {
    it: 'ends by itself',
    js: 'setTimeout(() => process.exit(3), 20)',
    message: 'ended by itself: exit code 3',
    ends: true,
  },
  {
    it: 'ends uncleanly',
    js: 'process.on("exit", () => { process.exitCode = 4 })',
    message: 'ended with exit code 4',
  },
  {
    it: 'leaves a process behind',
    js: 'spawn("sleep", ["60"], { stdio: "ignore" })',
    message: /had to be killed after its leader ended: \d+ sleep/,
  },
];

for (const { it, js, message, ends } of faults) {
  test(`the harness fails a test whose gateway ${it}`, async () => {
    const t = owner();
    const gw = await startGateway(t, `js ${js};; server { }`, { program });
    if (ends) await gw.ended();
    await expect(t.finish()).rejects.toThrow(message);
  });
}

test('the harness says why a gateway did not start', async () => {
  const t = owner();
  await expect(startGateway(t, 'server { listen 80; }', { program })).rejects.toThrow(
    /the gateway ended \(exit code 1\)/,
  );
  await expect(t.finish()).rejects.toThrow('the gateway ended by itself: exit code 1');
});
