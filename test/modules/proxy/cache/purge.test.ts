import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../../harness/gateway.ts';
import { cached, cacheStatus, type Origin, startOrigin } from './origin.ts';

const KEY = 'proxy_cache_key $uri; proxy_cache_purge $http_x_purge;';
const PURGE = { headers: { 'X-Purge': '1' } };

function filesOf(gw: Gateway): string[] {
  const root = join(gw.dir, 'cache');
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .map((name) => join(root, name))
    .filter((path) => existsSync(path) && statSync(path).isFile());
}

const status = async (gw: Gateway, path: string): Promise<string> =>
  (await cacheStatus(gw, path)).split(' ')[0] ?? '';

for (const workers of [1, 4]) {
  test(`a purge removes the responses of its key in all of ${workers} workers`, async (t) => {
    const origin = await startOrigin(t);
    const gw = await startGateway(t, cached(origin, KEY), { workers });
    for (const path of ['/a', '/a/b', '/a/c', '/d']) await cacheStatus(gw, path);
    await expect.poll(() => filesOf(gw)).toHaveLength(4);
    await gw.expect('GET /a', { status: 204 }, PURGE);
    expect(filesOf(gw)).toHaveLength(3);
    for (let round = 0; round < 3; round++) await gw.expect('GET /a', { status: 404 }, PURGE);
    await gw.expect('GET /a*', { status: 204 }, PURGE);
    expect(filesOf(gw)).toHaveLength(1);
    await gw.expect('GET /none*', { status: 404 }, PURGE);
    expect(await status(gw, '/a/b')).toBe('MISS');
    expect(await status(gw, '/d')).toBe('HIT');
  });
}

test('a purge of a key removes all its variants', async (t) => {
  const origin = await startOrigin(t);
  const gw = await startGateway(t, cached(origin, KEY));
  origin.respond = (request, response) => {
    response.writeHead(200, { 'Cache-Control': 'max-age=3600', Vary: 'X-Kind' });
    response.end(String(request.headers['x-kind']));
  };
  const kinds = ['one', 'two', 'three'];
  const of = async (kind: string) => cacheStatus(gw, '/a', { headers: { 'X-Kind': kind } });
  for (const kind of kinds) expect(await of(kind)).toBe(`MISS ${kind}`);
  for (const kind of kinds) expect(await of(kind)).toBe(`HIT ${kind}`);
  await gw.expect('GET /a', { status: 204 }, PURGE);
  expect(filesOf(gw)).toEqual([]);
  for (const kind of kinds) expect(await of(kind)).toBe(`MISS ${kind}`);
});

test('a response whose fetch began before a purge of its key is not stored', async (t) => {
  const origin = await startOrigin(t);
  const gw = await startGateway(t, cached(origin, KEY));
  let release = (): void => undefined;
  origin.respond = (_request, response) => {
    release = () => response.writeHead(200, { 'Cache-Control': 'max-age=3600' }).end('old');
  };
  const first = cacheStatus(gw);
  await expect.poll(() => origin.heard()).toHaveLength(1);
  await gw.expect('GET /a', { status: 404 }, PURGE);
  release();
  expect(await first).toBe('MISS old');
  origin.respond = (_request, response) =>
    void response.writeHead(200, { 'Cache-Control': 'max-age=3600' }).end('new');
  expect(await cacheStatus(gw)).toBe('MISS new');
});

test('after the response to a purge under load, nothing older is served', async (t) => {
  const origin = await startOrigin(t);
  const gw = await startGateway(t, cached(origin, KEY), { workers: 4 });
  let version = 0;
  origin.respond = (_request, response) => {
    const body = String(version);
    setTimeout(() => response.writeHead(200, { 'Cache-Control': 'max-age=3600' }).end(body), 2);
  };
  let isOver = false;
  const wrong: string[] = [];
  const client = async (): Promise<void> => {
    while (!isOver) {
      const least = purged;
      const [, body = ''] = (await cacheStatus(gw)).split(' ');
      if (Number(body) < least) wrong.push(`${body} < ${least}`);
    }
  };
  let purged = 0;
  const clients = Array.from({ length: 8 }, client);
  for (let round = 1; round <= 40; round++) {
    version = round;
    await gw.fetch('/a', PURGE);
    purged = round;
  }
  isOver = true;
  await Promise.all(clients);
  expect(wrong).toEqual([]);
});

function tagged(origin: Origin, tags: string): void {
  origin.respond = (_request, response) =>
    void response.writeHead(200, { 'Cache-Control': 'max-age=3600', 'X-Tags': tags }).end('x');
}

test('a response with too many tags, or too long ones, is not stored', async (t) => {
  const origin = await startOrigin(t);
  const gw = await startGateway(t, cached(origin, 'cache_tag_header X-Tags;'));
  const many = (count: number) => Array.from({ length: count }, (_, index) => `t${index}`).join(', ');
  for (const [tags, then] of [
    [many(64), 'HIT'],
    [many(65), 'MISS'],
    ['x'.repeat(64), 'HIT'],
    ['x'.repeat(65), 'MISS'],
  ] as const) {
    tagged(origin, tags);
    const path = `/${tags.length}`;
    expect(await status(gw, path)).toBe('MISS');
    expect(await status(gw, path)).toBe(then);
  }
});

test('the cache counts what it does', async (t) => {
  const origin = await startOrigin(t);
  const gw = await startGateway(
    t,
    `${cached(origin, KEY).replace(/\}\s*$/, '')} location /metrics { control_api metrics; } }`,
    { fresh: true },
  );
  await cacheStatus(gw, '/a');
  await cacheStatus(gw, '/a');
  await expect.poll(() => filesOf(gw)).toHaveLength(1);
  const { body } = await gw.fetch('/metrics');
  expect(body).toContain('gw_cache_requests_total{zone="one",status="MISS"} 1');
  expect(body).toContain('gw_cache_requests_total{zone="one",status="HIT"} 1');
  expect(body).toContain('gw_cache_entries{zone="one"} 1');
  expect(body).toContain('gw_cache_loading{zone="one"} 0');
  await gw.fetch('/a', PURGE);
  expect((await gw.fetch('/metrics')).body).toContain('gw_cache_purged_total{zone="one",by="api"} 1');
});
