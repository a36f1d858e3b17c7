import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createPeer } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { oneGateway, startGateway } from '../../harness/gateway.ts';
import type { Owner } from '../../harness/owner.ts';

const load = oneGateway();

const sha = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

async function peer(t: Owner, listener: RequestListener): Promise<number> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Responds with the length and the hash of the body. */
const hashing: RequestListener = (request, response) => {
  const hash = createHash('sha256');
  let length = 0;
  request.on('data', (piece: Buffer) => {
    length += piece.length;
    hash.update(piece);
  });
  request.on('end', () =>
    response.end(`${request.headers['content-length']} ${length} ${hash.digest('hex')}`),
  );
};

/** Reads the first bytes of a request, at least `bytes`, and closes the connection. */
async function breaker(t: Owner, bytes: number): Promise<number> {
  const server = createPeer((socket) => {
    let got = 0;
    socket.on('error', () => undefined);
    socket.on('data', (data: Buffer) => {
      got += data.length;
      if (got >= bytes) socket.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.onTestFinished(async () => void server.close());
  return (server.address() as AddressInfo).port;
}

const files = (directory: string): string[] =>
  existsSync(directory) ? readdirSync(directory, { recursive: true, encoding: 'utf8' }) : [];

test('a body beyond client_body_buffer_size is kept in an unlinked file', async (t) => {
  const port = await peer(t, hashing);
  const gw = await load(
    t,
    `client_max_body_size 0; client_body_temp_path bodies;
     server { location / { proxy_pass http://127.0.0.1:${port}; } }`,
  );
  for (const length of [1, 16_384, 16_385, 3_000_000]) {
    const body = randomBytes(length);
    const { body: said } = await gw.fetch('/', { method: 'POST', body });
    expect(said).toBe(`${length} ${length} ${sha(body)}`);
  }
  expect(existsSync(join(gw.dir, 'bodies'))).toBe(true);
  expect(files(join(gw.dir, 'bodies'))).toEqual([]);
});

test('a body in a file is sent to the next peer from its start', async (t) => {
  const [broken, port] = [await breaker(t, 500_000), await peer(t, hashing)];
  const gw = await load(
    t,
    `client_max_body_size 0; upstream u { server 127.0.0.1:${broken}; server 127.0.0.1:${port} backup; }
     server { location / { proxy_pass http://u; proxy_next_upstream error timeout non_idempotent; } }`,
  );
  const body = randomBytes(4_000_000);
  const { status, body: said } = await gw.fetch('/', { method: 'POST', body });
  expect([status, said]).toEqual([200, `4000000 4000000 ${sha(body)}`]);
});

test('client_body_in_file_only names the file and leaves it there', async (t) => {
  const port = await peer(t, hashing);
  const gw = await load(
    t,
    `client_body_temp_path bodies 1 2; log_format f '$request_body_file|$request_body'; access_log f.log f;
     server {
       location /on { client_body_in_file_only on; proxy_pass http://127.0.0.1:${port}; }
       location /clean { client_body_in_file_only clean; proxy_pass http://127.0.0.1:${port}; }
       location /off { proxy_pass http://127.0.0.1:${port}; }
     }`,
  );
  await gw.fetch('/on', { method: 'POST', body: 'kept' });
  await gw.fetch('/clean', { method: 'POST', body: 'gone' });
  await gw.fetch('/off', { method: 'POST', body: 'in memory' });
  await expect.poll(() => gw.read('f.log').split('\n')).toHaveLength(4);
  const [on = '', clean = '', off] = gw.read('f.log').split('\n');
  const path = on.replace('|-', '');
  expect(path).toMatch(new RegExp(`^${gw.dir}/bodies/\\d/\\d\\d/\\d{10}$`));
  expect(readFileSync(path, 'utf8')).toBe('kept');
  expect(clean).toMatch(/\/bodies\/.*\d{10}\|-$/);
  expect(existsSync(clean.replace('|-', ''))).toBe(false);
  expect(off).toBe('-|in memory');
});

test('client_body_in_file_only names a file for an empty body in chunks, and the peer gets its length', async (t) => {
  const port = await peer(t, hashing);
  const gw = await load(
    t,
    `client_body_temp_path bodies; log_format f '$request_body_file'; access_log empty.log f;
     server { location / { client_body_in_file_only on; proxy_pass http://127.0.0.1:${port}; } }`,
  );
  const head = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n';
  expect(await gw.raw(`${head}0\r\n\r\n`)).toContain(`0 0 ${sha(Buffer.alloc(0))}`);
  await expect.poll(() => gw.read('empty.log')).toMatch(/\n/);
  expect(readFileSync(gw.read('empty.log').trim(), 'utf8')).toBe('');
});

test('a client that leaves in the middle leaves no file', async (t) => {
  const port = await peer(t, hashing);
  const gw = await startGateway(
    t,
    `client_max_body_size 0; client_body_temp_path bodies; client_body_in_file_only on;
     server { location / { proxy_pass http://127.0.0.1:${port}; } }`,
  );
  const client = await gw.connect();
  client.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n${'x'.repeat(100_000)}`);
  await expect.poll(() => files(join(gw.dir, 'bodies'))).toHaveLength(1);
  client.destroy();
  await expect.poll(() => files(join(gw.dir, 'bodies'))).toEqual([]);
});

test('$request_body_file names a body beyond its buffer, and the file is removed', async (t) => {
  const port = await peer(t, (request, response) => {
    const path = String(request.headers['x-file'] ?? '');
    const inFile = path && readFileSync(path).length;
    request.resume().on('end', () => response.end(`${path.split('/').at(-2)} ${inFile}`));
  });
  const gw = await load(
    t,
    `client_body_temp_path named;
     server { location / { proxy_pass http://127.0.0.1:${port}; proxy_set_header X-File $request_body_file; } }`,
  );
  const { body } = await gw.fetch('/', { method: 'POST', body: randomBytes(20_000) });
  expect(body).toBe('named 20000');
  const { body: small } = await gw.fetch('/', { method: 'POST', body: 'small' });
  expect(small).toBe('undefined ');
  await expect.poll(() => files(join(gw.dir, 'named'))).toEqual([]);
});

const remembered = [
  { it: 'holds a body that fits the buffer', length: 16_384, holds: 16_384 },
  { it: 'is empty behind a larger one', length: 16_385, holds: 0 },
];

for (const { it, length, holds } of remembered) {
  test(`without buffering $request_body ${it}`, async (t) => {
    const port = await peer(t, (request, response) =>
      request.resume().on('end', () => response.writeHead(502).end()),
    );
    const gw = await load(
      t,
      `server {
         location / {
           client_body_in_file_only on; proxy_request_buffering off; proxy_pass http://127.0.0.1:${port};
           proxy_intercept_errors on; error_page 502 =200 /page;
         }
         location /page { return 200 $request_body; }
       }`,
    );
    const { status, body } = await gw.fetch('/', { method: 'POST', body: 'h'.repeat(length) });
    expect([status, body]).toEqual([200, 'h'.repeat(holds)]);
  });
}
