import { expect, test } from 'vitest';
import { oneGateway } from '../../harness/gateway.ts';

const load = oneGateway();

const BIG = `${'a line of a large file\n'.repeat(150_000)}end`;

const CONF = `addition_types *; gzip_types *;
  server {
    location / { add_before_body /site/big.txt; add_after_body /site/big.txt; return 200 "[between]"; }
    location /gzip { gzip on; add_before_body /site/big.txt; return 200 "[behind]"; }
    location /closed { add_before_body /444; add_after_body /after; return 200 "[whole]"; }
    location = /444 { return 444; }
    location = /after { return 200 "[after]"; }
    location /site/ { root .; }
  }`;

const cases = [
  { it: 'large responses are added around a body', path: '/', body: `${BIG}[between]${BIG}` },
  { it: 'a location that closes its connection adds nothing', path: '/closed', body: '[whole][after]' },
];

for (const { it, path, body } of cases) {
  test(`in an addition, ${it}`, async (t) => {
    const gw = await load(t, CONF, { 'site/big.txt': BIG });
    const response = await gw.fetch(path);
    expect(response.status).toBe(200);
    expect(response.body === body).toBe(true);
  });
}

test('a client that leaves ends the subrequest that it waits for', async (t) => {
  const gw = await load(t, CONF, { 'site/big.txt': BIG });
  const connection = await gw.connect();
  connection.write('GET /gzip HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n');
  await connection.until(/HTTP/);
  connection.destroy();
  await gw.expect('GET /after', { status: 200, body: '[after]' });
});
