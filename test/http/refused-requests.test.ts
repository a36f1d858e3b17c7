import { expect, test } from 'vitest';
import { oneGateway } from '../harness/gateway.ts';
import { exchangeRaw } from '../harness/raw.ts';

const load = oneGateway();

const BY_HOST = /^HTTP\/1\.1 200 OK\r\n[^]*X-Own: h\r\n[^]*own page$/;
const BY_DEFAULT = /^HTTP\/1\.1 400 Bad Request\r\n(?![^]*X-Own)/;

/** What nginx does: a head whose Host was read is answered by that server, one with a bad request line by the default one. */
const cases = [
  { it: 'TRACE', bytes: 'TRACE / HTTP/1.1\r\nHost: h\r\n\r\n', says: BY_HOST },
  // What uWebSockets.js refuses before our code (a second Host, an invalid length) is not here.
  {
    it: 'two lengths',
    bytes: 'GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
    says: BY_HOST,
  },
  { it: 'a malformed path', bytes: 'GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n', says: BY_DEFAULT },
  { it: 'an invalid host', bytes: 'GET / HTTP/1.1\r\nHost: h/x\r\n\r\n', says: BY_DEFAULT },
] as const;

for (const engine of ['uws', 'node']) {
  test(`a refused request gets the headers and error pages of its host (engine ${engine})`, async (t) => {
    const gw = await load(
      t,
      (_, port) => `
        server { listen 127.0.0.1:${port} engine=${engine}; return 200 default; }
        server {
          listen 127.0.0.1:${port}; server_name h; add_header X-Own $server_name always; error_page 400 405 = /own;
          location /own { return 200 "own page"; }
          location / { return 200; }
        }`,
    );
    for (const { it, bytes, says } of cases) expect(await exchangeRaw(gw.port, bytes), it).toMatch(says);
    await gw.waitForLog(/client sent TRACE method while reading client request headers, .*server: h,/);
  });
}
