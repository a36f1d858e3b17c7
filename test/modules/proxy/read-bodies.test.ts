import { readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { oneGateway } from '../../harness/gateway.ts';
import { callHttp2 } from '../../harness/http2-client.ts';
import { END_STREAM, FRAME, windowFrame } from '../../harness/http2-frames.ts';
import { head, part, startRawHttp2 } from '../../harness/http2-upstream.ts';
import type { Owner } from '../../harness/owner.ts';

const load = oneGateway();

async function peer(t: Owner, listener: RequestListener): Promise<number> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Responds with the request that it has received; to `/gone` with 404, after the body. */
const showing: RequestListener = (request, response) =>
  void text(request).then((body) => {
    const { 'x-body': header, 'x-length': length, 'x-file': file } = request.headers;
    const parts = [body, header, length, typeof file === 'string' ? readFileSync(file, 'utf8') : undefined];
    response.statusCode = request.url === '/gone' ? 404 : 200;
    response.end(parts.map((part) => part ?? '-').join(' | '));
  });

interface Variables {
  readonly it: string;
  readonly conf: string;
  /** What the upstream gets for `{"a":1}`: body, X-Body, X-Length, the file of X-File. */
  readonly gets: string;
}

const variables: readonly Variables[] = [
  { it: 'in proxy_set_body', conf: 'proxy_set_body $request_body;', gets: '{"a":1} | - | - | -' },
  {
    it: 'within the text of proxy_set_body',
    conf: `proxy_set_body '{"wrapped":$request_body}';`,
    gets: '{"wrapped":{"a":1}} | - | - | -',
  },
  {
    it: 'in a header, without the body',
    conf: 'proxy_pass_request_body off; proxy_set_header X-Body $request_body;',
    gets: ' | {"a":1} | - | -',
  },
  {
    it: 'as a file',
    conf: 'client_body_in_file_only clean; proxy_pass_request_body off; proxy_set_header X-File $request_body_file;',
    gets: ' | - | - | {"a":1}',
  },
  {
    it: 'as the length of a body that came in chunks',
    conf: 'proxy_set_body ""; proxy_set_header X-Length $content_length;',
    gets: ' | - | 7 | -',
  },
  {
    it: 'where the upstream gets the body as it comes',
    conf: 'proxy_request_buffering off; proxy_set_body "[$request_body]";',
    gets: '[{"a":1}] | - | - | -',
  },
];

for (const { it, conf, gets } of variables) {
  test(`the variables of a body are known ${it}`, async (t) => {
    const port = await peer(t, showing);
    const gw = await load(
      t,
      `log_format body escape=none "$request_body$request_body_file|"; access_log access.log body;
       client_body_temp_path bodies;
       server { location / { ${conf} proxy_pass http://127.0.0.1:${port}; } }`,
    );
    const { body } = await gw.fetch('/', { method: 'POST', body: '{"a":1}' });
    expect(body).toBe(gets);
    const chunked = await gw.raw(
      'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\n{"a\r\n4\r\n":1}\r\n0\r\n\r\n',
    );
    expect(chunked).toContain(gets);
    await gw.waitForAccessLog(/^(\{"a":1\}|.*bodies\/\d+)\|\n(\{"a":1\}|.*bodies\/\d+)\|\n$/);
  });
}

test('a request without a body has empty variables, and is sent at once', async (t) => {
  const port = await peer(t, showing);
  const gw = await load(
    t,
    `server { location / { proxy_set_body "[$request_body]"; proxy_pass http://127.0.0.1:${port}; } }`,
  );
  expect((await gw.fetch('/')).body).toBe('[] | - | - | -');
});

test('a body beyond the limit is refused, although another one is sent', async (t) => {
  const port = await peer(t, showing);
  const gw = await load(
    t,
    `client_max_body_size 4; server { location / { proxy_set_body own; proxy_pass http://127.0.0.1:${port}; } }`,
  );
  await gw.expect('POST /', { status: 413 }, { body: 'abcde' });
});

const ways: readonly { readonly it: string; readonly conf: (port: number) => string }[] = [
  {
    it: 'behind a mirror',
    conf: (port) => `
      location / { mirror /m; proxy_request_buffering off; proxy_pass http://127.0.0.1:${port}; }
      location /m { return 200; }`,
  },
  {
    it: 'behind an error page of another upstream',
    conf: (port) => `
      location / { proxy_pass http://127.0.0.1:${port}/gone; proxy_intercept_errors on; error_page 404 = @b; }
      location @b { proxy_request_buffering off; proxy_pass http://127.0.0.1:${port}; }`,
  },
  {
    it: 'over HTTP/2 behind an error page',
    conf: (port) => `
      location / { proxy_pass http://127.0.0.1:${port}/gone; proxy_intercept_errors on; error_page 404 = @b; }
      location @b { proxy_http_version 2; proxy_request_buffering off; proxy_pass http://unix:h2.sock; }`,
  },
];

for (const { it, conf } of ways) {
  for (const length of [0, 5, 66_000]) {
    test(`a body that was read is sent by a location that passes bodies on: ${it}, ${length} bytes`, async (t) => {
      const port = await peer(t, showing);
      const gw = await load(
        t,
        `log_format body "$request_body"; access_log access.log body;
         server { ${conf(port)} }
         server { listen unix:h2.sock engine=node; http2 on; location / { proxy_pass http://127.0.0.1:${port}; } }`,
      );
      const sent = 'abcde'.repeat(length / 5);
      const { status, body } = await gw.fetch('/', { method: 'POST', body: sent });
      expect([status, body === `${sent} | - | - | -`]).toEqual([200, true]);
    });
  }
}

/** The window of a stream before anything is said of it (RFC 9113, 6.9.2). */
const FIRST_WINDOW_BYTES = 65_535;

for (const by of ['grpc_pass', 'proxy_request_buffering off; proxy_http_version 2; proxy_pass http://']) {
  test(`a body that was read goes on once its upstream opens the window, behind its response head (${by})`, async (t) => {
    let bytes = 0;
    const upstream = await startRawHttp2(t, (socket, { type, flags, stream, payload }) => {
      if (type !== FRAME.data) return;
      bytes += payload.length;
      if (bytes === FIRST_WINDOW_BYTES)
        socket.write(Buffer.concat([head()(stream), windowFrame(1_000_000), windowFrame(1_000_000, stream)]));
      if ((flags & END_STREAM) !== 0) socket.write(part(`${bytes} bytes`, END_STREAM)(stream));
    });
    const gone = await peer(t, showing);
    const gw = await load(
      t,
      `http2 on; server { proxy_intercept_errors on; location / { proxy_pass http://127.0.0.1:${gone}/gone; error_page 404 = @b; }
         location @b { ${by === 'grpc_pass' ? 'grpc_pass ' : by}127.0.0.1:${upstream.port}; } }`,
    );
    const { status, body } = await callHttp2(gw.port, '/', { method: 'POST', body: 'x'.repeat(66_000) });
    expect([status, body]).toEqual([200, '66000 bytes']);
  });
}
