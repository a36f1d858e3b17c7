import { connect as connectTls } from 'node:tls';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { rmSync } from 'node:fs';
import { Certificates, HAS_OPENSSL } from '../../harness/certificates.ts';
import { startGateway } from '../../harness/gateway.ts';
import { callHttp2, callOn, openHttp2 } from '../../harness/http2-client.ts';
import { freePort } from '../../harness/ports.ts';
import { openFrames, FRAME, getFrame } from '../../harness/http2-frames.ts';

let certificates: Certificates | undefined;

beforeAll(() => {
  if (!HAS_OPENSSL) return;
  certificates = new Certificates();
  certificates.authority('ca');
  certificates.signed('server', 'ca', { subject: '/CN=a.example' });
});

afterAll(() => {
  if (certificates) rmSync(certificates.dir, { recursive: true, force: true });
});

const TLS = `ssl_certificate DIR/server.crt; ssl_certificate_key DIR/server.key;
server { listen 127.0.0.1:PORT ssl LISTEN; server_name a.example; MORE location / { return 200 "$http2 $ssl_alpn_protocol $host"; } }
server { listen 127.0.0.1:PORT ssl; server_name b.example; location / { return 200 "$http2 b"; } }`;

/** Which protocol the handshake chooses. */
async function alpnOf(
  port: number,
  servername: string,
  offered: readonly string[],
): Promise<string | false | null> {
  const socket = connectTls({
    port,
    host: '127.0.0.1',
    servername,
    ALPNProtocols: [...offered],
    rejectUnauthorized: false,
  });
  await once(socket, 'secureConnect');
  socket.destroy();
  return socket.alpnProtocol;
}

const HANDSHAKES = [
  { it: 'the server of the name', more: 'http2 on;', listen: '', a: 'h2', b: 'http/1.1' },
  { it: 'a listen, for all servers of the port', more: '', listen: 'http2', a: 'h2', b: 'h2' },
  { it: 'nobody by default', more: '', listen: '', a: 'http/1.1', b: 'http/1.1' },
];

for (const { it, more, listen, a, b } of HANDSHAKES) {
  test.runIf(HAS_OPENSSL)(`HTTP/2 with TLS is offered by ${it}`, async (t) => {
    const port = await freePort();
    const http = TLS.replaceAll('DIR', certificates?.dir ?? '').replaceAll('PORT', String(port));
    await startGateway(t, http.replace('MORE', more).replace('LISTEN', listen), { port });
    expect([
      await alpnOf(port, 'a.example', ['h2', 'http/1.1']),
      await alpnOf(port, 'b.example', ['h2', 'http/1.1']),
      await alpnOf(port, 'a.example', ['http/1.1']),
    ]).toEqual([a, b, 'http/1.1']);
    if (a !== 'h2') return;
    const session = openHttp2(port, { servername: 'a.example', rejectUnauthorized: false });
    expect((await callOn(session, '/', { headers: { host: 'a.example' } })).body).toBe('h2 h2 a.example');
    session.destroy();
  });
}

test.runIf(HAS_OPENSSL)(
  'a stream for a server of the port that does not speak HTTP/2 is a 421',
  async (t) => {
    const port = await freePort();
    const http = TLS.replaceAll('DIR', certificates?.dir ?? '').replaceAll('PORT', String(port));
    await startGateway(t, http.replace('MORE', 'http2 on;').replace('LISTEN', ''), { port });
    const session = openHttp2(port, { servername: 'a.example', rejectUnauthorized: false });
    const hosts = ['a.example', 'b.example', 'c.example'];
    const responses = await Promise.all(hosts.map((host) => callOn(session, '/', { headers: { host } })));
    expect(responses.map(({ status }) => status)).toEqual([200, 421, 200]);
    session.destroy();
  },
);

test('engine=uws keeps a plain port to HTTP/1', async (t) => {
  const port = await freePort();
  await startGateway(
    t,
    `http2 on; server { listen 127.0.0.1:${port} engine=uws; location / { return 200 x; } }`,
    { port },
  );
  await expect(callHttp2(port, '/')).rejects.toThrow('Protocol error');
});

test('a connection ends after keepalive_requests, and its last requests are served', async (t) => {
  const { port } = await startGateway(
    t,
    'http2 on; keepalive_requests 3; server { location / { return 200 x; } }',
  );
  const session = openHttp2(port);
  const goaway = once(session, 'goaway');
  const bodies = await Promise.all([1, 2, 3].map(() => callOn(session, '/')));
  expect(bodies.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect((await goaway)[0]).toBe(0);
  await once(session, 'close');
});

for (const { it, directives } of [
  { it: 'keepalive_timeout', directives: 'keepalive_timeout 200ms;' },
  { it: 'client_header_timeout, before its first request', directives: 'client_header_timeout 200ms;' },
]) {
  test(`an idle connection is closed after ${it}`, async (t) => {
    const { port } = await startGateway(t, `http2 on; ${directives} server { location / { return 200 x; } }`);
    const client = await openFrames(port);
    if (it === 'keepalive_timeout') client.send(getFrame(1, '/'));
    await expect.poll(() => client.isClosed).toBe(true);
    expect(client.frames.some(({ type }) => type === FRAME.goaway)).toBe(true);
  });
}

test('a client gets no more streams at once than http2_max_concurrent_streams', async (t) => {
  const { port } = await startGateway(
    t,
    'http2 on; http2_max_concurrent_streams 2; server { location / { return 200 x; } }',
  );
  const session = openHttp2(port);
  const [settings] = (await once(session, 'remoteSettings')) as [{ maxConcurrentStreams: number }];
  expect(settings.maxConcurrentStreams).toBe(2);
  session.destroy();
});

test('SIGQUIT lets the streams of a connection end, and closes it', async (t) => {
  const gw = await startGateway(
    t,
    `http2 on; server { location / { limit_rate 20; return 200 ${'x'.repeat(30)}; } }`,
    { main: 'worker_shutdown_timeout 20s;', supervised: true },
  );
  const session = openHttp2(gw.port);
  const response = callOn(session, '/');
  // Its response shows that the request before it has arrived.
  await new Promise((resolve) => session.ping(() => resolve(undefined)));
  gw.signal('SIGQUIT');
  expect((await response).body).toBe('x'.repeat(30));
  await once(session, 'close');
  await gw.ended();
});

test('SIGQUIT tells an idle connection that it takes no more requests', async (t) => {
  const gw = await startGateway(t, 'http2 on; server { location / { return 200 x; } }', {
    main: 'worker_shutdown_timeout 20s;',
    supervised: true,
  });
  const client = await openFrames(gw.port);
  client.send(getFrame(1, '/'));
  await expect.poll(() => client.frames.some(({ type }) => type === FRAME.data)).toBe(true);
  gw.signal('SIGQUIT');
  await expect.poll(() => client.isClosed).toBe(true);
  expect(client.frames.some(({ type }) => type === FRAME.goaway)).toBe(true);
  await gw.ended();
});

test('a reload changes what the streams of an open connection get', async (t) => {
  const conf = (text: string): string => `http2 on; server { location / { return 200 ${text}; } }`;
  const gw = await startGateway(t, conf('before'));
  const session = openHttp2(gw.port);
  expect((await callOn(session, '/')).body).toBe('before');
  expect(await gw.reload(gw.confOf(conf('after')))).toBe('done');
  expect((await callOn(session, '/')).body).toBe('after');
  session.destroy();
});
