import { credentials, ServerCredentials, status } from '@grpc/grpc-js';
import { beforeAll, describe, expect, test } from 'vitest';
import { Certificates, HAS_OPENSSL } from '../../harness/certificates.ts';
import { oneGateway } from '../../harness/gateway.ts';
import { GrpcClient, startGrpc } from '../../harness/grpc.ts';
import { callHttp2 } from '../../harness/http2-client.ts';
import { END_HEADERS, END_STREAM, FRAME, fieldBlock, frame, words } from '../../harness/http2-frames.ts';
import { startHttp2, startRawHttp2 } from '../../harness/http2-upstream.ts';
import { exchangeRaw } from '../../harness/raw.ts';

const load = oneGateway();
const CALL = {
  method: 'POST',
  headers: { 'content-type': 'application/grpc', 'x-own': 'mine' },
  body: 'abc',
};

test('a call is sent as gRPC requires', async (t) => {
  const upstream = await startHttp2(t, (stream) => {
    stream.respond(
      { ':status': 200, 'content-type': 'application/grpc', server: 'theirs', 'x-kept': 'yes' },
      { waitForTrailers: true },
    );
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0', connection: undefined }));
    stream.end('message');
  });
  const gw = await load(
    t,
    `http2 on; server { location /test. { grpc_set_header Host $host; grpc_hide_header X-Kept; grpc_pass 127.0.0.1:${upstream.port}; }
       location / { grpc_pass grpc://127.0.0.1:${upstream.port}; } }`,
  );
  const headers = { ...CALL.headers, 'grpc-timeout': '5S', te: 'trailers', host: 'a.example' };
  const response = await callHttp2(gw.port, '/test.Echo/Unary?x=1', { ...CALL, headers });
  expect(response).toMatchObject({ status: 200, body: 'message' });
  expect(response.trailers).toMatchObject({ 'grpc-status': '0' });
  expect(response.headers.get('x-kept')).toBeNull();
  expect(response.headers.get('server')).not.toBe('theirs');
  expect(upstream.heard[0]).toMatchObject({
    ':method': 'POST',
    ':scheme': 'http',
    ':authority': 'a.example',
    ':path': '/test.Echo/Unary?x=1',
    te: 'trailers',
    'grpc-timeout': '5S',
    'x-own': 'mine',
  });
  await callHttp2(gw.port, '/other', CALL);
  expect(upstream.heard[1]).toMatchObject({ ':authority': `127.0.0.1:${upstream.port}`, te: 'trailers' });
});

test('HTTP/1.1 clients get trailers behind the last chunk, from the node engine', async (t) => {
  const { port } = await startHttp2(t, (stream) => {
    stream.respond({ ':status': 200 }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.end('message');
  });
  const gw = await load(
    t,
    (_, own) => `server { listen 127.0.0.1:${own} engine=node; location / { grpc_pass 127.0.0.1:${port}; } }`,
  );
  const text = await exchangeRaw(
    gw.port,
    'POST / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc',
  );
  expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\r\n7\r\nmessage\r\n0\r\ngrpc-status: 0\r\n\r\n$/i);
});

test('a call that a server has not processed is sent to the next one, with its first message', async (t) => {
  const refusing = await startRawHttp2(t, (socket, { type, stream: id }) => {
    if (type === FRAME.headers) socket.write(frame(FRAME.reset, { stream: id, payload: words(7) }));
  });
  const server = await startGrpc(t);
  const gw = await load(
    t,
    `upstream calls { server 127.0.0.1:${refusing.port}; server 127.0.0.1:${server.port}; }
     http2 on; server { location / { grpc_pass calls; } }`,
  );
  const client = new GrpcClient(t, gw.port);
  for (let n = 0; n < 4; n++)
    expect(await client.call('Collect', { messages: ['a', `${n}`] })).toMatchObject({
      code: status.OK,
      messages: [`a${n}`],
    });
});

test('no call is lost when a server closes its connections now and then', async (t) => {
  const counts = new Map<unknown, number>();
  const server = await startHttp2(t, (stream) => {
    const { session } = stream;
    counts.set(session, (counts.get(session) ?? 0) + 1);
    if (counts.get(session) === 15) session?.close();
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.end();
  });
  const gw = await load(t, `http2 on; server { location / { grpc_pass 127.0.0.1:${server.port}; } }`);
  for (let round = 0; round < 10; round++) {
    const calls = Array.from({ length: 10 }, () => callHttp2(gw.port, '/test.Echo/Unary', CALL));
    const responses = await Promise.all(calls);
    expect(responses.map(({ trailers }) => trailers['grpc-status'])).toEqual(Array(10).fill('0'));
  }
  expect(server.sessions.length).toBeGreaterThan(5);
});

test('trailers pass behind a response with a length, too', async (t) => {
  const server = await startHttp2(t, (stream) => {
    const head = { ':status': 200, 'content-type': 'application/grpc', 'content-length': 5 };
    stream.respond(head, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.end(Buffer.alloc(5));
  });
  const gw = await load(t, `http2 on; server { location / { grpc_pass 127.0.0.1:${server.port}; } }`);
  const { bytes, trailers } = await callHttp2(gw.port, '/test.Echo/Unary', CALL);
  expect([bytes.length, trailers['grpc-status']]).toEqual([5, '0']);
});

/** Responses that end too early: the client must notice that they are incomplete. */
const breaks = [
  { it: 'is reset', frames: (id: number) => [frame(FRAME.reset, { stream: id, payload: words(2) })] },
  { it: 'ends with its connection', frames: () => [] },
  {
    it: 'has its trailers cut off',
    frames: (id: number) => [
      frame(FRAME.headers, { stream: id, flags: END_STREAM, payload: fieldBlock([['grpc-status', '0']]) }),
    ],
  },
];

for (const { it, frames } of breaks) {
  test(`a call whose response ${it} fails`, async (t) => {
    const peer = await startRawHttp2(t, (socket, { type, stream: id }) => {
      if (type !== FRAME.headers) return;
      const head = fieldBlock([
        [':status', '200'],
        ['content-type', 'application/grpc'],
      ]);
      socket.write(frame(FRAME.headers, { stream: id, flags: END_HEADERS, payload: head }));
      for (const bytes of frames(id)) socket.write(bytes);
      if (it !== 'is reset') socket.end();
    });
    const gw = await load(t, `http2 on; server { location / { grpc_pass 127.0.0.1:${peer.port}; } }`);
    const outcome = await new GrpcClient(t, gw.port).call('Unary');
    expect([status.UNKNOWN, status.INTERNAL, status.UNAVAILABLE, status.CANCELLED]).toContain(outcome.code);
  });
}

describe.runIf(HAS_OPENSSL)('over TLS', () => {
  const certificates = new Certificates();
  beforeAll(() => {
    certificates.authority('ca');
    for (const name of ['up', 'front', 'client'])
      certificates.signed(name, 'ca', { names: [`${name}.example`] });
  });

  test('both sides are encrypted, and the server asks for a certificate', async (t) => {
    const read = (name: string): Buffer => Buffer.from(certificates.read(name));
    const pair = { private_key: read('up.key'), cert_chain: read('up.crt') };
    const tls = ServerCredentials.createSsl(read('ca.crt'), [pair], true);
    const server = await startGrpc(t, { tls });
    const at = (name: string): string => certificates.path(name);
    const gw = await load(
      t,
      (
        _,
        port,
      ) => `server { listen 127.0.0.1:${port} ssl; http2 on; ssl_certificate ${at('front.crt')}; ssl_certificate_key ${at('front.key')};
         grpc_ssl_verify on; grpc_ssl_name up.example; grpc_ssl_server_name on; grpc_ssl_trusted_certificate ${at('ca.crt')};
         location / { grpc_ssl_certificate ${at('client.crt')}; grpc_ssl_certificate_key ${at('client.key')};
           grpc_pass grpcs://127.0.0.1:${server.port}; }
         location /bare { grpc_pass grpcs://127.0.0.1:${server.port}; } }`,
    );
    const secure = credentials.createSsl(read('ca.crt'), null, null, {
      checkServerIdentity: () => undefined,
    });
    const client = new GrpcClient(t, gw.port, secure);
    expect(await client.call('Chat', { messages: ['a', 'b'] })).toMatchObject({
      code: status.OK,
      messages: ['a', 'b'],
    });
  });
});
