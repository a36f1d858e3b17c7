import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { oneGateway, type Owner } from '../../harness/gateway.ts';

const load = oneGateway();

const LAST_MODIFIED = 'Thu, 29 Feb 2024 12:34:56 GMT';

async function upstream(t: Owner, listener: RequestListener): Promise<number> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const echo: RequestListener = ({ url = '' }, response) =>
  response
    .writeHead(url.includes('missing') ? 404 : 200, { 'Last-Modified': LAST_MODIFIED })
    .end(`body of ${url}`);

test('proxy_store writes what the upstream sends to the file of the URI', async (t) => {
  const port = await upstream(t, echo);
  const gw = await load(
    t,
    `server {
       root mirror; proxy_store_access user:rw group:rw all:r;
       location / { proxy_store on; proxy_pass http://127.0.0.1:${port}; }
       location /named/ { proxy_store named/$arg_name; proxy_pass http://127.0.0.1:${port}; }
     }`,
  );
  await gw.expect('GET /a/b.txt', { status: 200, body: 'body of /a/b.txt' });
  const file = join(gw.dir, 'mirror/a/b.txt');
  await expect.poll(() => existsSync(file)).toBe(true);
  expect(readFileSync(file, 'utf8')).toBe('body of /a/b.txt');
  const { mode, mtime } = statSync(file);
  expect([(mode & 0o777).toString(8), mtime.toUTCString()]).toEqual(['664', LAST_MODIFIED]);
  for (const request of ['HEAD /head', 'POST /post', 'GET /missing', 'GET /folder/'])
    await gw.expect(request, {});
  await gw.expect('GET /named/?name=../x', { status: 200 });
  await gw.expect('GET /named/?name=x', { status: 200 });
  await expect.poll(() => existsSync(join(gw.dir, 'named/x'))).toBe(true);
  expect(readdirSync(join(gw.dir, 'mirror'), { recursive: true })).toEqual(['a', 'a/b.txt']);
  expect(existsSync(join(gw.dir, 'x'))).toBe(false);
});

test('proxy_store writes no response that is not buffered', async (t) => {
  const port = await upstream(t, (request, response) => {
    if (request.url === '/no') response.setHeader('X-Accel-Buffering', 'no');
    response.end('text');
  });
  const gw = await load(
    t,
    `server {
       root unbuffered; proxy_store on;
       location / { proxy_pass http://127.0.0.1:${port}; }
       location /off { proxy_buffering off; proxy_pass http://127.0.0.1:${port}; }
       location /ignored/ { proxy_ignore_headers X-Accel-Buffering; proxy_pass http://127.0.0.1:${port}/; }
     }`,
  );
  for (const path of ['/no', '/off', '/ignored/no', '/yes'])
    await gw.expect(`GET ${path}`, { status: 200, body: 'text' });
  const stored = (): unknown =>
    new Set(readdirSync(join(gw.dir, 'unbuffered'), { encoding: 'utf8', recursive: true }));
  await expect.poll(stored).toEqual(new Set(['ignored', 'ignored/no', 'yes']));
});

test('a mirror fetches a file once (the example of nginx)', async (t) => {
  const asked: string[] = [];
  const port = await upstream(t, ({ url = '' }, response) => {
    asked.push(url);
    response.end(`the file ${url}`);
  });
  const gw = await load(
    t,
    `server {
       location /images/ { root www; error_page 404 = /fetch$uri; }
       location /fetch/ {
         internal; alias www/;
         proxy_pass http://127.0.0.1:${port}/; proxy_store on; proxy_store_access user:rw group:rw all:r;
       }
     }`,
  );
  await gw.expect('GET /images/a.txt', { status: 200, body: 'the file /images/a.txt' });
  await expect.poll(() => existsSync(join(gw.dir, 'www/images/a.txt'))).toBe(true);
  await gw.expect('GET /images/a.txt', { status: 200, body: 'the file /images/a.txt' });
  expect(asked).toEqual(['/images/a.txt']);
});

test('proxy_store keeps nothing of a body that breaks off, or whose client leaves', async (t) => {
  const port = await upstream(t, ({ url }, response) => {
    response.writeHead(200, { 'Content-Length': 100_000 }).write('half'.repeat(20_000));
    if (url === '/broken') setTimeout(() => response.destroy(), 50);
  });
  const gw = await load(
    t,
    `server { root broken; location / { proxy_store on; proxy_pass http://127.0.0.1:${port}; } }`,
  );
  const broken = await gw.connect();
  broken.write('GET /broken HTTP/1.1\r\nHost: a\r\n\r\n');
  expect(await broken.closed).toContain('half');
  const left = await gw.connect();
  left.write('GET /left HTTP/1.1\r\nHost: a\r\n\r\n');
  await left.until(/half/);
  left.destroy();
  await expect.poll(() => readdirSync(join(gw.dir, 'broken'))).toEqual([]);
});

test('a file that cannot be written is logged, and the client gets its response', async (t) => {
  const port = await upstream(t, echo);
  const gw = await load(
    t,
    `server { root taken; location / { proxy_store on; proxy_pass http://127.0.0.1:${port}; } }`,
  );
  await gw.expect('GET /a/b', { status: 200, body: 'body of /a/b' });
  await expect.poll(() => existsSync(join(gw.dir, 'taken/a/b'))).toBe(true);
  await gw.expect('GET /a', { status: 200, body: 'body of /a' });
  await gw.waitForLog(/store\(\) "[^"]*\/taken\/a" failed \(21: Is a directory\)/);
  await gw.expect('GET /a/b/c', { status: 200, body: 'body of /a/b/c' });
  await gw.waitForLog(/store\(\) "[^"]*\/taken\/a\/b\/c" failed \(17: File exists\)/);
  expect(readdirSync(join(gw.dir, 'taken'), { recursive: true })).toEqual(['a', 'a/b']);
});

test('many requests for one file leave it complete', async (t) => {
  const port = await upstream(t, (_, response) => void response.end('x'.repeat(300_000)));
  const gw = await load(
    t,
    `server { root same; location / { proxy_store on; proxy_pass http://127.0.0.1:${port}; } }`,
  );
  await Promise.all(Array.from({ length: 20 }, () => gw.expect('GET /f', { status: 200 })));
  await expect.poll(() => readdirSync(join(gw.dir, 'same'))).toEqual(['f']);
  expect(statSync(join(gw.dir, 'same/f')).size).toBe(300_000);
});
