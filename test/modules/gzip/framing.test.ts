import { expect, test } from 'vitest';
import { oneGateway } from '../../harness/gateway.ts';

const load = oneGateway();

const CONF = `
  location / { gzip_types *; return 200 "a body that is long enough to be packed"; }
  location /old { gzip_types *; gzip_http_version 1.0; return 200 "a body that is long enough to be packed"; }`;

for (const [path, version, isPacked] of [
  ['/', '1.0', false],
  ['/', '1.1', true],
  ['/old', '1.0', true],
  ['/old', '1.1', true],
] as const) {
  test(`a response of ${path} to HTTP/${version} is ${isPacked ? 'packed' : 'plain'}`, async (t) => {
    const gw = await load(
      t,
      (_, port) => `gzip on; server { listen 127.0.0.1:${port} engine=node; ${CONF} }`,
    );
    const response = await gw.raw(
      `GET ${path} HTTP/${version}\r\nHost: a\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n`,
    );
    expect(/^content-encoding: gzip\r$/im.test(response)).toBe(isPacked);
    expect(response).not.toMatch(/^transfer-encoding/im);
  });
}

test('without chunks a response of unknown length ends with its connection', async (t) => {
  const gw = await load(
    t,
    (_, port) => `server {
       listen 127.0.0.1:${port} engine=node; chunked_transfer_encoding off;
       location / { add_after_body /after; addition_types *; return 200 "a body, "; }
       location /after { return 200 "and more"; }
     }`,
  );
  const connection = await gw.connect();
  connection.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  const response = await connection.closed;
  expect(response).toMatch(/\r\n\r\na body, and more$/);
  expect(response).not.toMatch(/^(?:transfer-encoding|content-length)/im);
});
