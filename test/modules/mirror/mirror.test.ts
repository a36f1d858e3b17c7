import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { startGateway } from '../../harness/gateway.ts';
import type { Owner } from '../../harness/owner.ts';

interface Peer {
  readonly port: number;
  /** `METHOD url body-length` of each request. */
  readonly asked: string[];
}

async function peer(
  t: Owner,
  respond: (response: ServerResponse, request: IncomingMessage) => void,
): Promise<Peer> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    let length = 0;
    request.on('data', (piece: Buffer) => (length += piece.length));
    request.on('end', () => {
      asked.push(`${request.method} ${request.url} ${length}`);
      respond(response, request);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, asked };
}

test('a copy of each request goes to the mirror, with its body, however large', async (t) => {
  const real = await peer(t, (response) => response.end('real'));
  const shadow = await peer(t, (response) => response.writeHead(500).end('shadow'));
  const gw = await startGateway(
    t,
    `client_max_body_size 0;
     server {
       location / { mirror /mirror; proxy_pass http://127.0.0.1:${real.port}; }
       location /bare { mirror /mirror; mirror_request_body off; proxy_pass http://127.0.0.1:${real.port}; }
       location /off { mirror off; proxy_pass http://127.0.0.1:${real.port}; }
       location = /mirror { internal; proxy_pass http://127.0.0.1:${shadow.port}$request_uri; }
     }`,
  );
  const body = (length: number) => ({ method: 'POST', body: Buffer.alloc(length) });
  await gw.expect('GET /a?x=1', { status: 200, body: 'real' });
  await gw.expect('POST /b', { status: 200, body: 'real' }, body(5));
  await gw.expect('POST /large', { status: 200, body: 'real' }, body(2_000_000));
  await gw.expect('POST /bare', { status: 200, body: 'real' }, body(5));
  await gw.expect('POST /off', { status: 200, body: 'real' }, body(5));
  await gw.expect('GET /mirror', { status: 404 });
  expect(real.asked).toEqual([
    'GET /a?x=1 0',
    'POST /b 5',
    'POST /large 2000000',
    'POST /bare 5',
    'POST /off 5',
  ]);
  await expect
    .poll(() => shadow.asked.toSorted())
    .toEqual(['GET /a?x=1 0', 'POST /b 5', 'POST /bare 0', 'POST /large 2000000']);
});

test('a request does not wait for a mirror that sends no response', async (t) => {
  const real = await peer(t, (response) => response.end('real'));
  const silent = await peer(t, () => undefined);
  const gw = await startGateway(
    t,
    `server {
       location / { mirror /mirror; proxy_pass http://127.0.0.1:${real.port}; }
       location = /mirror { internal; proxy_pass http://127.0.0.1:${silent.port}; }
     }`,
  );
  await gw.expect('GET /', { status: 200, body: 'real' });
  await expect.poll(() => silent.asked).toEqual(['GET /mirror 0']);
});

test('a body is sent again when error_page leads to another upstream', async (t) => {
  const broken = await peer(t, (response) => response.writeHead(500).end());
  const other = await peer(t, (response) => response.end('other'));
  const gw = await startGateway(
    t,
    `client_max_body_size 0; proxy_intercept_errors on;
     server {
       location / { error_page 500 = @other; proxy_pass http://127.0.0.1:${broken.port}; }
       location @other { proxy_pass http://127.0.0.1:${other.port}; }
     }`,
  );
  for (const length of [5, 1_000_000]) {
    await gw.expect(
      'POST /x',
      { status: 200, body: 'other' },
      { method: 'POST', body: Buffer.alloc(length) },
    );
  }
  expect(other.asked).toEqual(['POST /x 5', 'POST /x 1000000']);
});
