import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startGateway } from '../../../harness/gateway.ts';
import { cached, cacheStatus, clockOfFile, startOrigin } from './origin.ts';

const { options, passed } = clockOfFile();

test('a purge while a response is revalidated does not stop the cache', async (t) => {
  const origin = await startOrigin(t);
  const location = 'proxy_cache_key $uri; proxy_cache_revalidate on; proxy_cache_purge $http_x_purge;';
  const gw = await startGateway(t, cached(origin, location), options);
  let answer: ServerResponse | undefined;
  origin.respond = ({ headers }, response) => {
    if (headers['if-none-match'] !== undefined) answer = response;
    else response.setHeader('ETag', '"e"').setHeader('Cache-Control', 'max-age=10').end('body');
  };
  await gw.fetch('/a');
  await expect.poll(() => cacheStatus(gw)).toBe('HIT body');
  passed(20);
  const revalidated = cacheStatus(gw);
  await expect.poll(() => answer).toBeDefined();
  await gw.expect('GET /a', { status: 204 }, { headers: { 'X-Purge': '1' } });
  answer?.writeHead(304).end();
  expect(await revalidated).toBe('REVALIDATED body');
  await gw.fetch('/b');
  await expect.poll(() => cacheStatus(gw, '/b')).toBe('HIT body');
  expect(gw.errorLog()).not.toMatch(/\[crit\]/);
});

test('a file that cannot be read keeps only itself out of the cache', async (t) => {
  const origin = await startOrigin(t);
  const isRoot = process.getuid?.() === 0;
  const gw = await startGateway(t, cached(origin), { main: isRoot ? 'user nobody;' : '' });
  await gw.fetch('/a');
  await expect.poll(() => cacheStatus(gw)).toBe('HIT number 1');
  await gw.stop();
  // A gateway that root has started once would leave them like this.
  for (const name of ['f/ff', 'e/ee']) {
    const directory = join(gw.dir, 'cache', name);
    mkdirSync(directory, { recursive: true });
    chmodSync(join(directory, '..'), 0o777);
    writeFileSync(join(directory, `${'0'.repeat(29)}${name.slice(2)}${name[0]}`), 'x', { mode: 0 });
    if (name === 'f/ff') chmodSync(directory, 0);
  }
  const from = gw.errorLog().length;
  gw.start();
  await gw.waitForLog(/start worker processes/, from);
  await gw.waitForLog(/\[crit\] .* failed \(13: Permission denied\), left out of cache "one"/, from);
  expect(await cacheStatus(gw)).toBe('HIT number 1');
  await gw.fetch('/new');
  await expect.poll(() => cacheStatus(gw, '/new')).toMatch(/^HIT/);
});

test('"proxy_limit_rate" holds for responses that are stored', async (t) => {
  const origin = await startOrigin(t);
  origin.respond = (_request, response) =>
    void response.setHeader('Cache-Control', 'max-age=60').end('x'.repeat(150_000));
  const gw = await startGateway(t, cached(origin, 'proxy_limit_rate 100k;'));
  const started = performance.now();
  expect((await gw.fetch('/a')).body).toHaveLength(150_000);
  // The bytes of the first second come at once.
  expect(performance.now() - started).toBeGreaterThan(300);
});

test('variables of a stale response are not those of the request that updates it', async (t) => {
  const origin = await startOrigin(t);
  origin.respond = (_request, response) =>
    void response.setHeader('Cache-Control', 'max-age=10').end('x'.repeat(3_000_000));
  const location = `proxy_cache_use_stale updating; proxy_cache_background_update on;
    access_log logs/x told;`;
  const format = `log_format told "$upstream_cache_status [$upstream_addr] [$upstream_status]";`;
  const gw = await startGateway(t, `${format} ${cached(origin, location)}`, {
    ...options,
    files: { 'logs/x': '' },
  });
  await gw.fetch('/a');
  await expect.poll(async () => (await gw.fetch('/a')).headers.get('x-cache')).toBe('HIT');
  passed(20);
  expect((await gw.fetch('/a')).headers.get('x-cache')).toBe('STALE');
  await expect.poll(() => gw.read('logs/x')).toMatch(/STALE/);
  expect(gw.read('logs/x')).toContain('STALE [-] [-]');
});
