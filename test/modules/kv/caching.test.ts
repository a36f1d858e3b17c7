import { expect, type TestContext, test } from 'vitest';
import { type Gateway, type GatewayOptions, gatewayPerOptions, startGateway } from '../../harness/gateway.ts';
import { redis, type TestRedis } from '../../harness/redis.ts';

const load = gatewayPerOptions();

/** Locations for each command of a store; `/plain/` has no cache. */
const conf =
  (pass: string, more = '') =>
  (dir: string): string => `
  proxy_cache_path ${dir}/cache keys_zone=replies:1m;
  add_header X-Cache $upstream_cache_status always;
  kv_cache_valid 1m; ${more}
  server {
    ${['get', 'mget', 'exists', 'strlen', 'hget', 'ttl']
      .map(
        (command) =>
          `location /${command}/ { kv_pass ${pass}; kv_key $uri_key; kv_command ${command}; kv_cache replies; }`,
      )
      .join('\n')}
    ${['set', 'del', 'incr', 'expire', 'hset', 'hdel']
      .map((command) => `location /${command}/ { kv_pass ${pass}; kv_key $uri_key; kv_command ${command}; }`)
      .join('\n')}
  }
  map $uri $uri_key { ~^/\\w+/(?<name>.*)$ $name; }`;

async function state(gw: Gateway, path: string): Promise<string> {
  const response = await gw.fetch(path);
  return `${response.headers.get('x-cache') ?? ''} ${response.body}`;
}

async function serve(
  t: TestContext,
  store: string,
  { more = '', ...options }: GatewayOptions & { more?: string } = {},
): Promise<Gateway> {
  const gw = await (options.fresh ? startGateway : load)(t, conf(store, more), options);
  // Nothing is stored before changes are received.
  await expect.poll(() => state(gw, '/exists/nothing')).toContain('HIT');
  return gw;
}

const write = async (gw: Gateway, path: string, body = ''): Promise<number> =>
  (await gw.fetch(path, { method: 'POST', ...(body !== '' && { body }) })).status;

const stores: readonly [name: string, pass: (server: TestRedis) => string][] = [
  ['Redis', ({ host, port }) => `${host}:${port}`],
  ['the embedded store', () => 'embedded'],
];
for (const [name, pass] of stores) {
  test(`replies of ${name} are served from the cache until gw writes to their keys`, async (t) => {
    const gw = await serve(t, pass(await redis()), { workers: 2 });
    expect(await write(gw, '/set/a', 'one')).toBe(200);
    expect(await write(gw, '/hset/h?field=f', 'x')).toBe(200);
    /** A read, its reply, a write to its key, and the reply after that. */
    const cases: readonly [string, string, string, string, string][] = [
      ['/get/a', '{"value":"one"}', '/set/a', 'two', '{"value":"two"}'],
      ['/get/a?encoding=base64', '{"value":"dHdv"}', '/set/a', 'tri', '{"value":"dHJp"}'],
      ['/strlen/a', '{"value":3}', '/set/a', 'four', '{"value":4}'],
      ['/mget/?keys=a,b', '{"values":["four",null]}', '/set/b', 'x', '{"values":["four","x"]}'],
      ['/exists/a', '{"value":1}', '/del/a', '', '{"value":0}'],
      ['/get/n', '{"value":null}', '/incr/n', '', '{"value":"1"}'],
      ['/hget/h?field=f', '{"value":"x"}', '/hset/h?field=f', 'y', '{"value":"y"}'],
      ['/hget/h?field=f', '{"value":"y"}', '/hdel/h?field=f', '', '{"value":null}'],
    ];
    for (const [path, before, changing, body, after] of cases) {
      expect(await state(gw, path), path).toContain(before);
      // Another worker may receive the change only now and remove the response once more.
      for (let round = 0; round < 4; round++) await expect.poll(() => state(gw, path)).toBe(`HIT ${before}`);
      expect(await write(gw, changing, body), changing).toBe(200);
      expect(await state(gw, path), path).toBe(`MISS ${after}`);
    }
    expect((await gw.fetch('/ttl/a')).headers.get('x-cache')).toBeNull();
  });
}

test('the variables of a command have values unless its reply comes from the cache', async (t) => {
  const { host, port } = await redis();
  const gw = await serve(t, `${host}:${port}`, {
    more: 'add_header X-Value "$kv_last_value $kv_last_exists";',
  });
  await write(gw, '/set/seen', 'v');
  expect((await gw.fetch('/get/seen')).headers.get('x-value')).toBe('v 1');
  expect((await gw.fetch('/get/seen')).headers.get('x-value')?.trim() ?? '').toBe('');
});

test('a cache key of the configuration tells more requests apart, and never makes two the same', async (t) => {
  const { host, port } = await redis();
  const gw = await serve(t, `${host}:${port}`, { more: 'kv_cache_key "$http_x_part";' });
  for (const key of ['part-a', 'part-b']) await write(gw, `/set/${key}`, key);
  const part = async (path: string, name: string): Promise<string> => {
    const { headers, body } = await gw.fetch(path, { headers: { 'x-part': name } });
    return `${headers.get('x-cache') ?? ''} ${body}`;
  };
  expect(await part('/get/part-a', '1')).toBe('MISS {"value":"part-a"}');
  expect(await part('/get/part-a', '1')).toBe('HIT {"value":"part-a"}');
  expect(await part('/get/part-a', '2')).toBe('MISS {"value":"part-a"}');
  expect(await part('/get/part-b', '1')).toBe('MISS {"value":"part-b"}');
  expect(await part('/strlen/part-a', '1')).toBe('MISS {"value":6}');
});

test('HEAD and conditional requests are served from the reply to GET', async (t) => {
  const { host, port } = await redis();
  const gw = await serve(t, `${host}:${port}`);
  await write(gw, '/set/v', 'value');
  const first = await gw.fetch('/get/v');
  expect(first.headers.get('etag')).toMatch(/^"[\w-]+"$/);
  const head = await gw.fetch('/get/v', { method: 'HEAD' });
  expect([head.status, head.body, head.headers.get('x-cache')]).toEqual([200, '', 'HIT']);
  const same = await gw.fetch('/get/v', {
    headers: { 'if-none-match': first.headers.get('etag') as string },
  });
  expect([same.status, same.headers.get('x-cache')]).toEqual([304, 'HIT']);
});

test('replies are removed when the store announces that other clients have changed their keys', async (t) => {
  const server = await redis();
  const gw = await serve(t, `${server.host}:${server.port}`, { workers: 2 });
  await server.client.set('k', 'old');
  await server.client.set('other', 'same');
  await expect.poll(() => state(gw, '/get/k')).toBe('HIT {"value":"old"}');
  await expect.poll(() => state(gw, '/get/other')).toBe('HIT {"value":"same"}');
  await server.client.set('k', 'new');
  await expect.poll(() => state(gw, '/get/k')).toContain('"new"');
  expect(await state(gw, '/get/other')).toBe('HIT {"value":"same"}');
  await server.client.flushall();
  await expect.poll(() => state(gw, '/get/other')).toContain('null');
});

test('a reply is kept no longer than its key lives', async (t) => {
  const server = await redis();
  const gw = await serve(t, `${server.host}:${server.port}`);
  await server.client.set('brief', 'x', 'PX', 400);
  await expect.poll(() => state(gw, '/get/brief')).toBe('HIT {"value":"x"}');
  await expect.poll(() => state(gw, '/get/brief')).toBe('HIT {"value":null}');
  await write(gw, '/set/brief', 'y');
  expect(await state(gw, '/get/brief')).toBe('MISS {"value":"y"}');
});

test('while changes are not received nothing is stored or served, and later nothing older', async (t) => {
  const server = await redis();
  const gw = await serve(t, `${server.host}:${server.port}`, { workers: 2 });
  await server.client.set('cut', 'old');
  await expect.poll(() => state(gw, '/get/cut')).toBe('HIT {"value":"old"}');
  const seen: string[] = [];
  await server.client
    .pipeline()
    .call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
    .set('cut', 'new')
    .exec();
  await expect.poll(async () => seen[seen.push(await state(gw, '/get/cut')) - 1]).toBe('HIT {"value":"new"}');
  expect(seen.slice(seen.findIndex((text) => text.includes('new')))).not.toContain('HIT {"value":"old"}');
});

test('a frozen store: nothing is served that is older than the freeze', async (t) => {
  const server = await redis();
  const gw = await serve(t, `${server.host}:${server.port}`, { more: 'kv_timeout 300ms;' });
  t.onTestFinished(() => server.signal('SIGCONT'));
  await server.client.set('ice', 'old');
  await expect.poll(() => state(gw, '/get/ice')).toBe('HIT {"value":"old"}');
  server.signal('SIGSTOP');
  await expect.poll(() => state(gw, '/get/ice')).toMatch(/^BYPASS /);
  server.signal('SIGCONT');
  await server.client.set('ice', 'new');
  await expect.poll(() => state(gw, '/get/ice')).toBe('HIT {"value":"new"}');
});

test('many requests for one reply ask the store once', async (t) => {
  const server = await redis();
  const gw = await serve(t, `${server.host}:${server.port}`, { workers: 2, more: 'kv_cache_lock on;' });
  await server.client.set('hot', 'x');
  await server.client.config('RESETSTAT');
  const all = await Promise.all(Array.from({ length: 100 }, () => state(gw, '/get/hot')));
  expect(new Set(all.map((text) => text.replace(/^\w+ /, '')))).toEqual(new Set(['{"value":"x"}']));
  expect(await server.client.info('commandstats')).toMatch(/cmdstat_get:calls=1,/);
});

test('errors are not stored', async (t) => {
  const server = await redis();
  const gw = await serve(t, `${server.host}:${server.port}`);
  await server.client.hset('hash', 'f', 'v');
  for (let round = 0; round < 2; round++) {
    const { status, headers } = await gw.fetch('/get/hash');
    expect([status, headers.get('x-cache')]).toEqual([500, 'MISS']);
  }
});

test('a store that does not announce changes has its replies kept for a second', async (t) => {
  const server = await redis('--rename-command', 'CLIENT', '');
  // A reload may log this before the log of the test begins.
  const gw = await serve(t, `${server.host}:${server.port}`, { fresh: true });
  await server.client.set('u', 'old');
  await expect.poll(() => state(gw, '/get/u')).toBe('HIT {"value":"old"}');
  await server.client.set('u', 'new');
  await expect.poll(() => state(gw, '/get/u')).toContain('"new"');
  expect(gw.errorLog()).toMatch(/does not announce changes: its replies stay in a cache for 1s at most/);
});

test('after a reload with other servers, replies of the former ones are not served', async (t) => {
  const [one, two] = [await redis(), await redis('--save', '')];
  const blockOf = ({ host, port }: TestRedis): string => `upstream store { server ${host}:${port}; }`;
  const gw = await serve(t, 'store', { more: blockOf(one), workers: 2 });
  await one.client.call('set', 'moved', 'in one');
  await two.client.call('set', 'moved', 'in two');
  await expect.poll(() => state(gw, '/get/moved')).toBe('HIT {"value":"in one"}');
  await gw.load(conf('store', blockOf(two)), {});
  expect(await state(gw, '/get/moved')).toContain('in two');
  await expect.poll(() => state(gw, '/get/moved')).toBe('HIT {"value":"in two"}');
  await two.client.call('set', 'moved', 'changed');
  await expect.poll(() => state(gw, '/get/moved')).toContain('changed');
});

test('without a lifetime, replies are not stored', async (t) => {
  const { host, port } = await redis();
  const gw = await load(
    t,
    `proxy_cache_path cache keys_zone=replies:1m; add_header X-Cache "[$upstream_cache_status]" always;
     server { location /get/ { kv_pass ${host}:${port}; kv_key a; kv_command get; kv_cache replies; } }`,
  );
  for (let n = 0; n < 2; n++) expect(await state(gw, '/get/')).toMatch(/^\[\] /);
});
