import { expect, test, vi } from 'vitest';
import { HAS_NGINX, startNginx } from '../../conformance/nginx.ts';
import { type Owner, startGateway } from '../../harness/gateway.ts';
import { call } from '../../harness/http.ts';
import { freePort } from '../../harness/ports.ts';
import { connectRaw } from '../../harness/raw.ts';

const HTTP = `server { listen 127.0.0.1:PORT;
  location = /status { stub_status; }
  location = /old { stub_status on; }
  location = /text { return 200 "$connections_active $connections_reading $connections_writing $connections_waiting"; }
  location / { return 200 ok; }
}`;

const SHAPE =
  /^Active connections: (\d+) \nserver accepts handled requests\n (\d+) (\d+) (\d+) \nReading: (\d+) Writing: (\d+) Waiting: (\d+) \n$/;

/** The seven numbers, in their order. */
async function numbers(port: number, path = '/status'): Promise<number[]> {
  const { status, headers, body } = await call(port, path);
  expect(status).toBe(200);
  expect(headers.get('content-type')).toBe('text/plain');
  const found = SHAPE.exec(body);
  expect(body).toMatch(SHAPE);
  return (found ?? []).slice(1).map(Number);
}

const servers: readonly { name: string; start: (t: Owner) => Promise<number> }[] = [
  ...(HAS_NGINX ? [{ name: 'nginx', start: (t: Owner) => startNginx(t, HTTP) }] : []),
  ...[1, 3].map((workers) => ({
    name: `gw with ${workers} workers`,
    start: (t: Owner) => startGw(t, workers),
  })),
];

async function startGw(t: Owner, workers: number): Promise<number> {
  const port = await freePort();
  await startGateway(t, HTTP.replaceAll('PORT', String(port)), { port, workers });
  return port;
}

for (const { name, start } of servers) {
  test(`${name} shows its connections and requests`, async (t) => {
    const port = await start(t);
    const before = await numbers(port);
    for (let i = 0; i < 5; i++) await call(port, '/');
    const after = await numbers(port, '/old');
    // Five requests and this one, each on a connection of its own.
    const grown = after.slice(1, 4).map((value, i) => value - (before[i + 1] ?? 0));
    expect(grown).toEqual([6, 6, 6]);
    // The earlier connections close in a moment.
    await vi.waitFor(async () => {
      expect((await numbers(port)).filter((_, i) => i === 0 || i > 3)).toEqual([1, 0, 1, 0]);
      expect((await call(port, '/text')).body).toBe('1 0 1 0');
    });
    expect((await call(port, '/status', { method: 'POST' })).status).toBe(405);
    expect(await call(port, '/status', { method: 'HEAD' })).toMatchObject({ status: 200, body: '' });
  });
}

test('connections that are kept open are waiting', async (t) => {
  const port = await startGw(t, 2);
  const kept = await Promise.all([connectRaw(port), connectRaw(port), connectRaw(port)]);
  for (const connection of kept) {
    connection.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await connection.until(/ok$/);
  }
  const [active, , , , , writing, waiting] = await numbers(port);
  expect({ active, writing, waiting }).toEqual({ active: 4, writing: 1, waiting: 3 });
  for (const connection of kept) connection.destroy();
});

test('a connection whose request head is not complete is read', async (t) => {
  const gw = await startGateway(
    t,
    (_, port) => `server { listen 127.0.0.1:${port} engine=node; location / { stub_status; } }`,
  );
  const client = await connectRaw(gw.port);
  client.write('GET / HTTP/1.1\r\nHo');
  await vi.waitFor(async () => expect((await numbers(gw.port, '/')).slice(4)).toEqual([1, 1, 0]));
  client.write('st: a\r\n\r\n');
  expect(await client.until(/Waiting: \d/)).toMatch(/Reading: 0 Writing: 1 Waiting: 0/);
  client.write('GET');
  client.destroy();
  await vi.waitFor(async () => expect((await numbers(gw.port, '/')).slice(4)).toEqual([0, 1, 0]));
});

test('a server without a matching location serves its own stub_status', async (t) => {
  const gw = await startGateway(t, 'server { stub_status; location /a { return 200 a; } location /b { } }');
  await gw.expect('GET /', { status: 200, body: SHAPE });
  await gw.expect('GET /a', { status: 200, body: 'a' });
  await gw.expect('GET /b', { status: 404 });
});
