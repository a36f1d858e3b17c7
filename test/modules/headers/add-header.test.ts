import { expect, test } from 'vitest';
import { oneGateway } from '../../harness/gateway.ts';

const load = oneGateway();

test('a control byte in the value of a header is a blank, so that it cannot split the response', async (t) => {
  const gw = await load(
    t,
    'server { location ~ ^/(.*)$ { add_header X-Path "$1"; add_header X-Text "a\\r\\nX-Evil: 1"; return 200 ok; } }',
  );
  const response = await gw.raw('GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  expect(response).toMatch(/\r\nX-Path: a\r\n/);
  expect(response).toMatch(/\r\nX-Text: a {2}X-Evil: 1\r\n/);
});

test('a redirect to a decoded path cannot split the response', async (t) => {
  const gw = await load(t, 'server { location / { return 302 /to$uri; } }');
  await gw.expect('GET /a%20b%C3%A4', {
    status: 302,
    location: `http://127.0.0.1:${gw.port}/to/a%20b%C3%A4`,
  });
  await gw.expect('GET /a%0d%0aX-Evil:1', {
    status: 302,
    location: `http://127.0.0.1:${gw.port}/to/a%0D%0AX-Evil:1`,
    headers: { 'x-evil': null },
  });
});
