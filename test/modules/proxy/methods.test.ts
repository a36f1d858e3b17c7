import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { type Owner, startGateway } from '../../harness/gateway.ts';
import { exchangeRaw } from '../../harness/raw.ts';

/** An upstream whose response repeats method, URL and body of the request. */
async function startEcho(t: Owner): Promise<number> {
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (piece: string) => (body += piece));
    request.on('end', () => response.end(`${request.method} ${request.url} ${body}`));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.onTestFinished(async () => void server.close());
  return (server.address() as AddressInfo).port;
}

const ask = (line: string, body = ''): string =>
  `${line} HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

const cases = [
  {
    it: 'PROPFIND goes to the upstream with its body',
    bytes: ask('PROPFIND /dav/x', '<a/>'),
    says: /PROPFIND \/dav\/x <a\/>$/,
  },
  { it: 'REPORT goes to the upstream', bytes: ask('REPORT /dav/'), says: /REPORT \/dav\/ $/ },
  {
    it: 'an unknown method reaches a location that serves any method',
    bytes: ask('FROB /any'),
    says: /200 OK[^]*FROB$/,
  },
  {
    it: 'an unknown method is not allowed for a file',
    bytes: ask('FROB /file'),
    says: /^HTTP\/1\.1 405 Not Allowed\r\n/,
  },
  { it: 'an unknown method is not allowed for a key', bytes: ask('FROB /key'), says: /^HTTP\/1\.1 405 / },
  { it: 'TRACE is refused', bytes: ask('TRACE /dav/'), says: /^HTTP\/1\.1 405 Not Allowed\r\n/ },
  {
    it: 'a malformed method is refused',
    bytes: ask('pRoP /dav/'),
    says: /^HTTP\/1\.1 400 Bad Request\r\n/,
  },
];

test('with a proxied location, methods of every kind are served', async (t) => {
  const upstream = await startEcho(t);
  const gw = await startGateway(
    t,
    `server {
       location /dav/ { proxy_pass http://127.0.0.1:${upstream}; }
       location /any { return 200 $request_method; }
       location /file { root /nowhere; }
       location /key { kv_pass 127.0.0.1:1; kv_key k; }
     }`,
  );
  for (const { it, bytes, says } of cases) expect(await exchangeRaw(gw.port, bytes), it).toMatch(says);
});
