import { renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { oneGateway } from '../../harness/gateway.ts';

const load = oneGateway();

test('without a cache each request sees the file as it is', async (t) => {
  const gw = await load(t, 'server { root site; }', { 'site/a.txt': 'one' });
  const path = join(gw.dir, 'site/a.txt');
  const past = new Date('2020-01-01T00:00:00Z');
  await gw.expect('GET /a.txt', { status: 200, body: 'one' });
  writeFileSync(path, 'two');
  await gw.expect('GET /a.txt', { status: 200, body: 'two' });
  utimesSync(path, past, past);
  await gw.expect('GET /a.txt', { headers: { 'last-modified': 'Wed, 01 Jan 2020 00:00:00 GMT' } });
  writeFileSync(`${path}.new`, 'six');
  utimesSync(`${path}.new`, past, past);
  renameSync(`${path}.new`, path);
  await gw.expect('GET /a.txt', { status: 200, body: 'six' });
  rmSync(path);
  await gw.expect('GET /a.txt', { status: 404 });
  symlinkSync('../gw.conf', path);
  await gw.expect('GET /a.txt', { status: 200, body: /root site/ });
});

test('with a cache a changed file shows once its entry is no longer valid', async (t) => {
  const conf = 'server { root site; open_file_cache max=10; open_file_cache_valid 1s; }';
  const gw = await load(t, conf, { 'site/a.txt': 'one' });
  await gw.expect('GET /a.txt', { status: 200, body: 'one' });
  writeFileSync(join(gw.dir, 'site/a.txt'), 'other');
  let body = '';
  while (body !== 'other') {
    ({ body } = await gw.fetch('/a.txt'));
    expect(['one', 'other']).toContain(body);
  }
});

test('a pipe instead of a file does not block', async (t) => {
  const gw = await load(t, 'server { root site; }', { 'site/a.txt': 'one' });
  execFileSync('mkfifo', [join(gw.dir, 'site/pipe')]);
  await gw.expect('GET /pipe', { status: 404 });
  await gw.waitForLog(/\[crit\] .*"\/.*\/site\/pipe" is not a regular file, client/);
  await gw.expect('GET /a.txt', { status: 200, body: 'one' });
});

test('the entity tag is the time and the size of the file in hexadecimal', async (t) => {
  const gw = await load(t, 'server { root site; }', { 'site/a.txt': 'x'.repeat(1000) });
  const time = new Date('2024-02-29T12:34:56.789Z');
  utimesSync(join(gw.dir, 'site/a.txt'), time, time);
  const { headers } = await gw.fetch('/a.txt');
  expect(headers.get('etag')).toBe('"65e079f0-3e8"');
});

test('$realpath_root resolves the links of $document_root', async (t) => {
  const gw = await load(
    t,
    `server { root current; location / { return 200 "$document_root $realpath_root"; }
       location /gone/ { root nothing; return 200 "[$realpath_root]"; } }`,
    { 'release/x': '' },
  );
  symlinkSync('release', join(gw.dir, 'current'));
  await gw.expect('GET /', { body: `${gw.dir}/current ${gw.dir}/release` });
  await gw.expect('GET /gone/', { body: '[]' });
});
