import { beforeAll, expect, test } from 'vitest';
import {
  type CachePage,
  type CachePurge,
  type CachePurged,
  type CacheState,
  DATA_PATHS,
} from '../../../../src/modules/control/console/contract.ts';
import { type Gateway, oneGateway } from '../../../harness/gateway.ts';
import type { ReceivedResponse } from '../../../harness/http.ts';
import { wholeFile } from '../../../harness/owner.ts';
import { type Origin, startOrigin } from '../../proxy/cache/origin.ts';
import { ConsoleBrowser, expectGone, expectShown } from './console-browser.ts';

const file = wholeFile();
const load = oneGateway({ workers: 2 });
let origin: Origin;

beforeAll(async () => {
  origin = await startOrigin(file);
  origin.respond = ({ url = '' }, response) => {
    const [, bytes = '10'] = /(\d+)$/.exec(url) ?? [];
    response.setHeader('Cache-Control', 'max-age=3600').setHeader('Cache-Tag', `all, page${bytes}`);
    response.end('x'.repeat(Number(bytes)));
  };
});

/** The content of caches survives a reload, so each test has its own caches. */
let tests = 0;

const confOf = (zone: string, port: number): string => `
  proxy_cache_path ${zone} keys_zone=${zone}:1m max_size=10m; proxy_cache_path ${zone}b keys_zone=${zone}b:1m;
  server {
    location / {
      proxy_cache ${zone}; proxy_cache_key $uri$is_args$args; cache_tag_header Cache-Tag;
      add_header X-Cache $upstream_cache_status; proxy_pass http://127.0.0.1:${port};
    }
    location /_gw/ { control_console on; }
  }`;

async function begin(t: Parameters<typeof load>[0]): Promise<{ gw: Gateway; zone: string }> {
  const zone = `pages${++tests}`;
  return { gw: await load(t, confOf(zone, origin.port)), zone };
}

async function store(gw: Gateway, ...paths: readonly string[]): Promise<void> {
  for (const path of paths)
    await expect.poll(async () => (await gw.fetch(path)).headers.get('x-cache'), { interval: 5 }).toBe('HIT');
}

async function cacheOf(gw: Gateway, name: string): Promise<CacheState | undefined> {
  const { body } = await gw.expect(`GET /_gw/${DATA_PATHS.caches}`, { status: 200 });
  return (JSON.parse(body) as CachePage).caches.find((cache) => cache.name === name);
}

const purge = (gw: Gateway, body: CachePurge | object): Promise<ReceivedResponse> => {
  const headers = { 'Content-Type': 'application/json', 'X-Gw-Console': '1' };
  return gw.fetch(`/_gw/${DATA_PATHS.caches}`, { method: 'POST', headers, body: JSON.stringify(body) });
};

test('the console shows the contents, the statuses and the largest responses of each cache', async (t) => {
  const { gw, zone } = await begin(t);
  const sizes = Array.from({ length: 12 }, (_, n) => (n + 1) * 100);
  await store(gw, ...sizes.map((size) => `/a${size}`));
  const cache = await cacheOf(gw, zone);
  expect(cache).toMatchObject({ entries: 12, maxBytes: 10_485_760, isLoading: false, failingSinceMs: 0 });
  expect(cache?.directory).toMatch(new RegExp(`/${zone}$`));
  expect(cache?.requests).toMatchObject({ MISS: 12 });
  expect(cache?.requests['HIT']).toBeGreaterThanOrEqual(12);
  expect(cache?.indexFreeBytes).toBeLessThan(cache?.indexBytes ?? 0);
  const largest = cache?.largest ?? [];
  expect(largest.map(({ key }) => key)).toEqual(
    sizes
      .slice(2)
      .reverse()
      .map((size) => `/a${size}`),
  );
  expect(largest[0]).toMatchObject({ tags: ['all', 'page1200'], isWhole: true });
  expect(largest[0]?.uses).toBeGreaterThanOrEqual(1);
  expect(largest[0]?.sizeBytes).toBeGreaterThan(1200);
  expect(largest[0]?.validMs).toBeGreaterThan(Date.now() + 3_000_000);
  const none = { entries: 0, bytes: 0, maxBytes: 0, requests: {}, largest: [], purged: 0 };
  expect(await cacheOf(gw, `${zone}b`)).toMatchObject(none);
});

const purges = [
  { it: 'a key', match: 'key', text: '/a/1', gone: ['/a/1'] },
  { it: 'keys that begin alike', match: 'prefix', text: '/a/', gone: ['/a/1', '/a/2'] },
  { it: 'a tag', match: 'tag', text: 'page2', gone: ['/a/2', '/b/2'] },
  { it: 'a key without a response', match: 'key', text: '/none', gone: [] },
] as const;

for (const { it, match, text, gone } of purges) {
  test(`the console purges ${it} for all workers`, async (t) => {
    const { gw, zone } = await begin(t);
    const paths = ['/a/1', '/a/2', '/b/2'];
    await store(gw, ...paths);
    const { status, body } = await purge(gw, { cache: zone, match, text });
    const { purged, caches } = JSON.parse(body) as CachePurged;
    expect([status, purged]).toEqual([200, gone.length]);
    const left = paths.filter((path) => !(gone as readonly string[]).includes(path));
    const shown = caches.find(({ name }) => name === zone);
    expect(shown?.largest.map(({ key }) => key).toSorted((a, b) => a.localeCompare(b))).toEqual(left);
    expect(shown?.purged).toBe(gone.length);
    for (const path of gone) expect((await gw.fetch(path)).headers.get('x-cache')).toBe('MISS');
    for (const path of left) expect((await gw.fetch(path)).headers.get('x-cache')).toBe('HIT');
  });
}

const refusals = [
  { it: 'of no cache', body: { match: 'key', text: '/a' }, status: 400 },
  { it: 'of a cache that does not exist', body: { cache: 'none', match: 'key', text: '/a' }, status: 404 },
  { it: 'of an unknown kind', body: { cache: 'ZONE', match: 'regex', text: '/a' }, status: 400 },
  { it: 'without a text', body: { cache: 'ZONE', match: 'key' }, status: 400 },
  { it: 'of everything', body: { cache: 'ZONE', match: 'prefix', text: '' }, status: 400 },
  { it: 'that is no object', body: [], status: 400 },
] as const;

test('a purge in the console that is not possible is refused with its reason, and removes nothing', async (t) => {
  const { gw, zone } = await begin(t);
  await store(gw, '/a');
  for (const { it, body, status } of refusals) {
    const response = await purge(gw, JSON.parse(JSON.stringify(body).replace('ZONE', zone)) as object);
    expect([it, response.status]).toEqual([it, status]);
    expect((JSON.parse(response.body) as { error?: string }).error).toMatch(/\w/);
  }
  const plain = { method: 'POST', body: '{}', headers: { 'Content-Type': 'application/json' } };
  expect((await gw.fetch(`/_gw/${DATA_PATHS.caches}`, plain)).status).toBe(403);
  expect((await gw.fetch('/a')).headers.get('x-cache')).toBe('HIT');
});

test('secrets in keys are masked, and such keys are not offered for purging', async (t) => {
  const { gw, zone } = await begin(t);
  await store(gw, '/a?token=abcdef&n=1');
  const { body } = await gw.fetch(`/_gw/${DATA_PATHS.caches}`);
  expect(body).not.toContain('abcdef');
  expect((await cacheOf(gw, zone))?.largest).toMatchObject([{ key: '/a?token=***&n=1', isWhole: false }]);
});

const browser = new ConsoleBrowser(
  file,
  `proxy_cache_path pages keys_zone=pages:1m max_size=10m; proxy_cache_path other keys_zone=other:1m;
   server { server_name pages; location / {
     proxy_cache pages; proxy_cache_key $uri; proxy_cache_valid 1h; proxy_pass http://files; } }
   server { listen unix:files.sock; return 200 "$uri"; }
   upstream files { server unix:files.sock; }`,
);

test('the page shows each cache, and purges it by form and by row', async (t) => {
  const fetchPage = (path: string) => browser.gw.fetch(path, { headers: { Host: 'pages' } });
  for (const path of ['/news/1', '/news/2', '/about']) await fetchPage(path);
  const page = await browser.look(t, 'caches');
  const pages = page.getByRole('region', { name: 'Cache pages', exact: true });
  const row = (key: string) => pages.getByRole('row', { name: new RegExp(`^${key} `) });
  await expectShown(row('/about'));
  await expectShown(pages.getByRole('img', { name: 'MISS × 3' }));
  const other = page.getByRole('region', { name: 'Cache other', exact: true });
  await expectShown(other.getByText('Nothing is stored'));

  await pages.getByRole('combobox').selectOption('prefix');
  await pages.getByRole('textbox').fill('/news/');
  await page.keyboard.press('Enter');
  await expectShown(page.getByText('2 responses removed from "pages": prefix /news/'));
  await expectGone(row('/news/1'));
  await pages.getByRole('button', { name: 'Purge /about' }).click();
  await expectShown(page.getByText('1 response removed from "pages": key /about'));
  await expectShown(pages.getByText('Nothing is stored'));
  await expectShown(pages.getByText(/3 purged/));
});
