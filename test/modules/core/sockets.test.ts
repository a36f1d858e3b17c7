import { get } from 'node:http';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startGateway } from '../../harness/gateway.ts';
import { freePort } from '../../harness/ports.ts';

/** GET / on a Unix socket, or on another address than 127.0.0.1. */
function fetchFrom(options: { socketPath: string } | { host: string; port: number }): Promise<string> {
  return new Promise((resolve, reject) => {
    get({ ...options, path: '/', agent: false, headers: { host: 'a.example' } }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (text: string) => (body += text));
      response.on('end', () => resolve(body));
    }).on('error', reject);
  });
}

test('listen takes a Unix socket, also after a restart', async (t) => {
  const gw = await startGateway(
    t,
    'server { listen unix:gw.sock; return 200 "unix [$server_port] $server_addr"; }',
  );
  const socketPath = join(gw.dir, 'gw.sock');
  expect(await fetchFrom({ socketPath })).toMatch(/^unix \[\] unix:/);
  await gw.stop();
  const from = gw.errorLog().length;
  gw.start();
  await gw.waitForLog(/start worker processes/, from);
  expect(await fetchFrom({ socketPath })).toMatch(/^unix/);
});

test('listen takes an IPv6 address beside an IPv4 one on the same port', async (t) => {
  const port = await freePort();
  const conf = `server { listen 127.0.0.1:${port}; return 200 v4; } server { listen [::1]:${port}; return 200 v6; }`;
  const gw = await startGateway(t, conf, { port });
  expect((await gw.fetch('/')).body).toBe('v4');
  expect(await fetchFrom({ host: '::1', port })).toBe('v6');
});

test('the wildcard addresses of both families share a port', async (t) => {
  const port = await freePort();
  const gw = await startGateway(
    t,
    `server { listen ${port}; listen [::]:${port}; return 200 "$server_port"; }`,
    { port },
  );
  expect((await gw.fetch('/')).body).toBe(String(port));
  expect(await fetchFrom({ host: '::1', port })).toBe(String(port));
});

test('one server listens on several ports, and a specific address wins over the wildcard', async (t) => {
  const [port, second] = [await freePort(), await freePort()];
  const conf = `
    server { listen ${port}; listen 127.0.0.1:${second}; return 200 "first $server_port"; }
    server { listen 127.0.0.1:${port}; return 200 "specific"; }`;
  const gw = await startGateway(t, conf, { port });
  expect((await gw.fetch('/')).body).toBe('specific');
  expect(await fetchFrom({ host: '127.0.0.1', port: second })).toBe(`first ${second}`);
});

test('listen parameters that tune sockets are taken', async (t) => {
  const port = await freePort();
  const conf = `server { listen 127.0.0.1:${port} default_server reuseport backlog=511 so_keepalive=on; return 200 ok; }`;
  const gw = await startGateway(t, conf, { port });
  await gw.expect('GET /', { status: 200, body: 'ok' });
});

test('worker_processes auto starts a worker for each core', async (t) => {
  const gw = await startGateway(t, 'server { return 200; }', {
    workers: 'auto' as unknown as number,
    fresh: true,
  });
  expect((await gw.waitForLog(/start worker processes: (\d+)/))[1]).toBe(String(availableParallelism()));
});

test('-g and environment variables reach the configuration', async (t) => {
  const gw = await startGateway(
    t,
    'server { server_name ${env:GW_T_NAME}; return 200 "$server_name ${env:GW_T_NONE:-fallback} ${file:secret}"; }',
    {
      args: ['-g', 'env GW_T_NAME; worker_shutdown_timeout 5s;'],
      env: { GW_T_NAME: 'from.env' },
      files: { secret: 'a $host b\n' },
    },
  );
  await gw.expect('GET /', { status: 200, body: 'from.env fallback a $host b' });
});
