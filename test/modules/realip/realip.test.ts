import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { oneGateway, startGateway } from '../../harness/gateway.ts';

const load = oneGateway();

const BEHIND = 'set_real_ip_from 127.0.0.1; real_ip_header X-Forwarded-For;';
const from = (address: string) => ({ headers: { 'x-forwarded-for': address } });

test('limits and logs use the address that a trusted proxy sent', async (t) => {
  const gw = await load(
    t,
    `${BEHIND} limit_req_zone $remote_addr zone=one:1m rate=1r/m; error_page 404 = @in;
     server { location @in { return 200 in; } location / { limit_req zone=one; } }`,
  );
  await gw.expect('GET /', { status: 200 }, from('192.0.2.1'));
  await gw.expect('GET /', { status: 200 }, from('192.0.2.2'));
  await gw.expect('GET /', { status: 503 }, from('192.0.2.1'));
  await gw.waitForLog(/limiting requests.*, client: 192\.0\.2\.1, /);
  await gw.waitForAccessLog(/192\.0\.2\.2 - - /);
});

test('an IPv4-mapped address keeps its form, and is not the IPv4 address in it', async (t) => {
  const gw = await load(
    t,
    `${BEHIND} limit_req_zone $binary_remote_addr zone=binary:1m rate=1r/m;
     server { location / { limit_req zone=binary; error_page 404 = @shown; } location @shown { return 200 $remote_addr; } }`,
  );
  await gw.expect('GET /', { body: '::ffff:203.0.113.7' }, from('::ffff:203.0.113.7'));
  await gw.expect('GET /', { body: '203.0.113.7' }, from('203.0.113.7'));
  await gw.expect('GET /', { status: 503 }, from('::FFFF:203.0.113.7'));
});

test('all addresses of a host that is trusted by name are trusted, and none of a host that is not found', async (t) => {
  const gw = await startGateway(
    t,
    `set_real_ip_from localhost; set_real_ip_from no-such-host.invalid; real_ip_header X-Forwarded-For;
     server { return 200 $remote_addr; }`,
  );
  await gw.waitForLog(/\[warn\] .*host not found in set_real_ip_from "no-such-host\.invalid"/);
  await gw.expect('GET /', { body: '192.0.2.1' }, from('192.0.2.1'));
});

test('of several X-Real-IP headers the first is used, of several X-Forwarded-For headers the last', async (t) => {
  const gw = await load(
    t,
    `set_real_ip_from 127.0.0.1; server { location / { error_page 404 = @in; } location @in { return 200 $remote_addr; }
     location /for { real_ip_header X-Forwarded-For; error_page 404 = @in; } }`,
  );
  const fetchWith = (target: string, name: string) =>
    gw.raw(
      `GET ${target} HTTP/1.1\r\nHost: a\r\n${name}: 192.0.2.1\r\n${name}: 192.0.2.2\r\nConnection: close\r\n\r\n`,
    );
  expect(await fetchWith('/', 'X-Real-IP')).toMatch(/192\.0\.2\.1$/);
  expect(await fetchWith('/for', 'X-Forwarded-For')).toMatch(/192\.0\.2\.2$/);
});

test('a proxy on a Unix socket is trusted where unix: is trusted', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'gw-unix-'));
  t.onTestFinished(() => rmSync(folder, { recursive: true }));
  const socketPath = join(folder, 's');
  await load(
    t,
    `server {
       listen unix:${socketPath}; real_ip_header X-Forwarded-For; error_page 404 = @in;
       location @in { return 200 "$remote_addr $realip_remote_addr"; }
       location / { set_real_ip_from unix:; allow 192.0.2.1; deny all; }
       location /other { set_real_ip_from 10.0.0.0/8; allow unix:; deny all; }
     }`,
  );
  const get = async (path: string) => {
    const request = httpRequest({
      socketPath,
      path,
      headers: { host: 'a', 'x-forwarded-for': '192.0.2.1' },
    }).end();
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    return text(response);
  };
  expect(await get('/')).toBe('192.0.2.1 unix:');
  expect(await get('/other')).toBe('unix: unix:');
});
