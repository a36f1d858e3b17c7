import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../harness/gateway.ts';
import { wholeFile } from '../harness/owner.ts';
import { smallDisk } from '../harness/small-disk.ts';
import { startOrigin } from '../modules/proxy/cache/origin.ts';
import { firstAsProgram } from './in-process.ts';

const gw = firstAsProgram();
const file = wholeFile();
let gateway: Gateway;

beforeAll(async () => {
  const origin = await startOrigin(file);
  gateway = await startGateway(
    file,
    `proxy_cache_path pages keys_zone=pages:1m max_size=10m; proxy_cache_path other keys_zone=other:1m;
     server {
       location / { proxy_cache pages; proxy_cache_key $uri; add_header X-Cache $upstream_cache_status;
         proxy_pass http://127.0.0.1:${origin.port}; }
       location = /metrics { control_api metrics; }
       location = /purge { cache_purge_api; cache_purge_zone pages; }
       location = /purge-below { cache_purge_api; cache_purge_zone pages; cache_purge_match prefix; }
     }`,
    { workers: 2 },
  );
});

const cache = (...args: string[]) => gw(gateway.dir, ['cache', ...args, '-c', 'gw.conf']);
const said = (stdout: string) => ({ code: 0, stdout, stderr: '' });

async function store(...paths: readonly string[]): Promise<void> {
  for (const path of paths)
    await expect.poll(async () => (await gateway.fetch(path)).headers.get('x-cache')).toBe('HIT');
}

test('the status tells what each cache holds and serves', async () => {
  await store('/a', '/b');
  const { code, stdout } = await cache('status');
  expect(code).toBe(0);
  expect(stdout).toMatch(/^ZONE +ENTRIES +SIZE +LIMIT +REQUESTS +SERVED +STATE\n/);
  expect(stdout).toMatch(/^pages +2 +\d+ B +10\.0 MB +\d+ +\d+\.\d % +ready$/m);
  expect(stdout).toMatch(/^other +0 +0 B +- +0 +- +ready$/m);
  const one = JSON.parse((await cache('status', 'pages', '--json')).stdout) as unknown;
  expect(one).toMatchObject([
    { zone: 'pages', entries: 2, maxBytes: 10_485_760, loading: false, failingSince: null, diskFaults: 0 },
  ]);
  expect(await cache('status', 'none')).toEqual({
    code: 1,
    stdout: '',
    stderr: 'gw: there is no cache "none"\n',
  });
});

test('the status tells since when the disk of a cache takes nothing', async (t) => {
  const disk = smallDisk(t, '256k');
  if (disk === undefined) return t.skip('this account cannot mount a file system');
  const origin = await startOrigin(t);
  const gateway = await startGateway(
    t,
    `proxy_cache_path ${disk}/cache keys_zone=full:1m use_temp_path=off;
     server {
       location / { proxy_cache full; proxy_cache_key $uri; add_header X-Cache $upstream_cache_status;
         proxy_pass http://127.0.0.1:${origin.port}; }
       location = /metrics { control_api metrics; }
     }`,
    { workers: 2 },
  );
  const status = async (...args: string[]): Promise<string> =>
    (await gw(gateway.dir, ['cache', 'status', '-c', 'gw.conf', ...args])).stdout;
  const filler = join(disk, 'filler');
  writeFileSync(filler, '');
  expect(() => {
    for (;;) appendFileSync(filler, Buffer.alloc(4_096));
  }).toThrow('ENOSPC');
  const beforeMs = Date.now();
  await gateway.expect('GET /a', { status: 200 });
  await expect
    .poll(() => status())
    .toMatch(/^full .* writes fail since \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ \(1 fault\)$/m);
  const [{ failingSince, diskFaults }] = JSON.parse(await status('--json'));
  expect([Date.parse(failingSince) >= beforeMs - 1_000, diskFaults]).toEqual([true, 1]);
});

test('responses are purged by key and by prefix', async () => {
  await store('/a', '/b', '/c/1', '/c/2');
  expect(await cache('purge', 'pages', '/a', '/none')).toEqual(said('1 removed: /a\n0 removed: /none\n'));
  expect(await cache('purge', 'pages', '/c/', '--match', 'prefix')).toEqual(said('2 removed: /c/\n'));
  const { stdout } = await cache('purge', 'pages', '/b', '--json');
  expect(JSON.parse(stdout)).toMatchObject({ module: 'cache_purge', purged: 1, missing: 0 });
});

const refused = [
  {
    args: ['purge', 'pages', 'x', '--match', 'tag'],
    stderr: `gw: no location of gw.conf purges cache "pages" by tag
  add "location = /purge { cache_purge_api; cache_purge_zone pages; cache_purge_match tag; }", or name one with --address
`,
  },
  {
    args: ['purge', 'pages', 'x', '--address', 'http://127.0.0.1'],
    stderr: `gw: invalid address "http://127.0.0.1"
  expected the API that purges, such as http://host:port/purge
`,
  },
  { args: ['purge', 'pages', ''], stderr: 'gw: each target must be a non-empty string\n' },
];

for (const { args, stderr } of refused) {
  test(`gw cache ${args.join(' ')} says why nothing was done`, async () => {
    expect(await cache(...args)).toEqual({ code: 1, stdout: '', stderr });
  });
}

test('gw explain tells what the cache has for a request, and changes nothing', async () => {
  await store('/told');
  const explain = async (path: string) => {
    const url = `http://127.0.0.1:${gateway.port}${path}`;
    return (await gw(gateway.dir, ['explain', 'GET', url, '-c', 'gw.conf', '-p', gateway.dir])).stdout;
  };
  const told = await explain('/told');
  expect(told).toMatch(/ANSWER +uses the cache; otherwise forwards to /);
  expect(told).toMatch(/key +\/told\n/);
  expect(told).toMatch(/state +HIT: 200, \d+ bytes, stored \S+Z, fresh for \d+ s\n/);
  expect(await explain('/new')).toMatch(/state +MISS: the directory has no response for the key\n/);
  expect((await gateway.fetch('/told')).headers.get('x-cache')).toBe('HIT');
});
