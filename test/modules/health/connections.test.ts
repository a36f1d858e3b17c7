import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { createServer as createTls } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { Certificates, HAS_OPENSSL } from '../../harness/certificates.ts';
import { oneGateway } from '../../harness/gateway.ts';
import type { Owner } from '../../harness/owner.ts';

const load = oneGateway();

const FAST = { timeout: 10_000, interval: 20 };

async function listen(t: Owner, server: Server, path?: string): Promise<number> {
  server.listen(path ?? { port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  t.onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address() as AddressInfo | string;
  return typeof address === 'string' ? 0 : address.port;
}

const CHECK = 'health_check uri=/health interval=50ms mandatory;';

test.skipIf(!HAS_OPENSSL)('a check in a location has the TLS settings of its requests', async (t) => {
  const certificates = new Certificates();
  certificates.authority('ca');
  certificates.signed('up.example', 'ca', { names: ['up.example'] });
  const probes: (string | undefined)[] = [];
  const server = createTls(
    { key: certificates.read('up.example.key'), cert: certificates.read('up.example.crt') },
    ({ url, headers }, response) => {
      if (url === '/health') probes.push(headers.host);
      response.end('secure');
    },
  );
  const port = await listen(t, server);
  const conf = (name: string): string =>
    `upstream u { server 127.0.0.1:${port}; }
     server { location / {
       proxy_pass https://u; proxy_ssl_verify on; proxy_ssl_name ${name}; proxy_ssl_server_name on;
       proxy_ssl_trusted_certificate ${certificates.path('ca.crt')}; ${CHECK}
     } }`;
  const gw = await load(t, conf('up.example'));
  await vi.waitFor(() => gw.expect('GET /', { status: 200, body: 'secure' }), FAST);
  expect(probes[0]).toBe('u');

  const other = await load(t, conf('other.example'));
  await vi.waitFor(() => other.expect('GET /', { status: 502 }), FAST);
  // The peer was excluded: no request has been tried with it.
  await other.waitForLog(/no live upstreams while connecting to upstream/);
});

test('a check reaches a peer on a Unix socket', async (t) => {
  let status = 200;
  const server = createServer(({ url }, response) => {
    if (url === '/health') response.statusCode = status;
    response.end('local');
  });
  const path = join(new Certificates().dir, 'peer.sock');
  await listen(t, server, path);
  const gw = await load(
    t,
    `upstream u { server unix:${path}; ${CHECK.replace('mandatory', 'fails=1')} } server { location / { proxy_pass http://u; } }`,
  );
  await gw.expect('GET /', { body: 'local' });
  status = 500;
  await gw.waitForLog(/peer is unhealthy: the status is 500, health check "\/health" of peer unix:/);
  await gw.expect('GET /', { status: 502 });
  status = 200;
  await vi.waitFor(() => gw.expect('GET /', { status: 200, body: 'local' }), FAST);
});
