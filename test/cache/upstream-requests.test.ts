import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { oneGateway, type Owner } from '../harness/gateway.ts';
import { startHttp2 } from '../harness/http2-upstream.ts';
import { type ProgramProtocol, startProgram } from '../harness/scripted-program.ts';

const load = oneGateway();

/** An upstream whose responses expire at once. It returns the headers of its requests, named as in HTTP. */
interface Origin {
  readonly port: number;
  heard(): readonly (readonly (readonly [name: string, value: string])[])[];
}

const HEAD = { 'X-Accel-Expires': '@1', ETag: '"stored"' };

async function overHttp1(t: Owner): Promise<Origin> {
  const heard: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    heard.push(request.headers);
    response.writeHead(200, HEAD).end('body');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.onTestFinished(async () => {
    server.close().closeAllConnections();
    await once(server, 'close');
  });
  const { port } = server.address() as AddressInfo;
  return { port, heard: () => heard.map((headers) => Object.entries(headers) as [string, string][]) };
}

async function overHttp2(t: Owner): Promise<Origin> {
  const { port, heard } = await startHttp2(t, (stream) => {
    stream.respond({ ':status': 200, ...HEAD });
    stream.end('body');
  });
  return { port, heard: () => heard.map((headers) => Object.entries(headers) as [string, string][]) };
}

async function overParams(t: Owner, protocol: ProgramProtocol): Promise<Origin> {
  const head = Object.entries(HEAD).map(([name, value]) => `${name}: ${value}\r\n`);
  const { port, heard } = await startProgram(t, protocol, () => [
    `Status: 200 OK\r\n${head.join('')}\r\n`,
    'body',
  ]);
  const named = (param: string): string =>
    param
      .replace(/^HTTP_/, '')
      .replaceAll('_', '-')
      .toLowerCase();
  return {
    port,
    heard: () => heard().map(({ params }) => params.map(([name, value]) => [named(name), value] as const)),
  };
}

const protocols = [
  { it: 'HTTP/1.1', open: overHttp1, prefix: 'proxy', pass: 'proxy_pass http://' },
  { it: 'HTTP/2', open: overHttp2, prefix: 'proxy', pass: 'proxy_http_version 2; proxy_pass http://' },
  ...(['fastcgi', 'scgi', 'uwsgi'] as const).map((name) => ({
    it: name,
    open: (t: Owner) => overParams(t, name),
    prefix: name,
    pass: `${name}_param REQUEST_METHOD $request_method; ${name}_pass `,
  })),
];

const CONDITIONS = [
  'if-modified-since',
  'if-unmodified-since',
  'if-none-match',
  'if-match',
  'range',
  'if-range',
];

for (const { it, open, prefix, pass } of protocols) {
  test(`requests for the cache have its conditions instead of the client's, over ${it}`, async (t) => {
    const { port, heard } = await open(t);
    const gw = await load(
      t,
      `${prefix}_cache_path cache keys_zone=one:1m;
       server {
         location / {
           ${prefix}_cache one; ${prefix}_cache_key "${it}"; ${prefix}_cache_revalidate on;
           ${pass}127.0.0.1:${port};
         }
       }`,
    );
    const headers = {
      'If-None-Match': '"other"',
      'If-Match': '"stored"',
      Range: 'bytes=0-1',
      'X-Own': 'yes',
    };
    for (const _ of ['MISS', 'EXPIRED']) await gw.fetch('/', { headers });
    const sent = heard().map((request) => request.filter(([name]) => CONDITIONS.includes(name)));
    expect(sent).toEqual([[], [['if-none-match', '"stored"']]]);
  });
}
