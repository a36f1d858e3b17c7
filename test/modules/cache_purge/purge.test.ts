import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Gateway, oneGateway } from '../../harness/gateway.ts';
import type { Owner } from '../../harness/owner.ts';
import { type Origin, startOrigin } from '../proxy/cache/origin.ts';

const load = oneGateway({ workers: 2 });

/** Each test has its own caches, whose content is kept across reloads. */
let nth = 0;

interface Purging {
  readonly gw: Gateway;
  readonly origin: Origin;
  /** Requests a page and returns its cache status. */
  status(path: string): Promise<string>;
  /** Requests pages until they are stored: a client may have a response before that. */
  store(...paths: readonly string[]): Promise<void>;
  /** Purges over `/purge` and gives the response. */
  purge(body: unknown, headers?: Record<string, string>): Promise<{ status: number; body: unknown }>;
}

/** `ZONE` and `PORT` are replaced by those of the test. */
function confOf(zone: string, { port }: Origin, { directives, http, more }: Record<string, string>): string {
  const text = `${http} proxy_cache_path ZONE keys_zone=ZONE:1m; proxy_cache_path ZONEb keys_zone=ZONEb:1m;
     server {
       location / {
         proxy_cache ZONE; proxy_cache_key $uri; cache_tags;
         add_header X-Cache $upstream_cache_status always; proxy_pass http://127.0.0.1:PORT;
       }
       location = /purge { cache_purge_api; cache_purge_zone ZONE; ${directives} }
       location = /tags { cache_tags_purge;
         add_header X-Last "$cache_tags_last_purged|$cache_tags_last_tag|$cache_tags_last_error" always; }
       ${more}
     }`;
  return text.replaceAll('ZONE', zone).replaceAll('PORT', String(port));
}

async function begin(t: Owner, directives = '', { http = '', more = '' } = {}): Promise<Purging> {
  const origin = await startOrigin(t);
  const zone = `pages${++nth}`;
  origin.respond = ({ url = '' }, response) => {
    response.setHeader('Cache-Control', 'max-age=3600').setHeader('Cache-Tag', `all, page-${url.slice(1)}`);
    response.end(url);
  };
  const gw = await load(t, confOf(zone, origin, { directives, http, more }));
  const status = async (path: string): Promise<string> =>
    String((await gw.fetch(path)).headers.get('x-cache'));
  return {
    gw,
    origin,
    status,
    async store(...paths) {
      for (const path of paths) await expect.poll(() => status(path), { interval: 5 }).toBe('HIT');
    },
    async purge(body, headers = {}) {
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      const type = { 'Content-Type': 'application/json' };
      const response = await gw.fetch('/purge', {
        method: 'POST',
        body: text,
        headers: { ...type, ...headers },
      });
      return { status: response.status, body: JSON.parse(response.body) as unknown };
    },
  };
}

test('keys are removed in all workers before the response, which counts the removed entries', async (t) => {
  const { gw, purge, status, store } = await begin(t);
  await store('/a', '/b');
  const { status: code, body } = await purge({ targets: ['/a', '/none'] });
  expect(code).toBe(200);
  expect(body).toEqual({
    module: 'cache_purge',
    zone: `pages${nth}`,
    match: 'exact',
    requested: 2,
    purged: 1,
    missing: 1,
    physical_cache_invalidated: true,
    rejected: 0,
    worker_events: { attempted: 0, published: 0, retention_evicted: 0, failed: 0 },
    results: [
      { target: '/a', purged: 1 },
      { target: '/none', purged: 0 },
    ],
  });
  expect(await status('/b')).toBe('HIT');
  expect(await status('/a')).toBe('MISS');
  expect((await gw.fetch('/a')).headers.get('x-cache')).toBe('HIT');
});

const matches = [
  { it: 'a prefix', conf: 'cache_purge_match prefix;', target: '/a', purged: ['/a', '/a/b'] },
  { it: 'a prefix without matches', conf: 'cache_purge_match prefix;', target: '/x', purged: [] },
  { it: 'a tag', conf: 'cache_purge_match tag;', target: 'page-a/b', purged: ['/a/b'] },
  { it: 'a tag of all caches', conf: 'cache_purge_match tag;', target: 'all', purged: ['/a', '/a/b', '/c'] },
  {
    it: 'everything, if allowed',
    conf: 'cache_purge_match prefix; cache_purge_allow_all on;',
    target: '',
    purged: ['/a', '/a/b', '/c'],
  },
];

for (const { it, conf, target, purged } of matches) {
  test(`a purge means ${it}`, async (t) => {
    const { purge, status, store } = await begin(t, conf);
    const paths = ['/a', '/a/b', '/c'];
    await store(...paths);
    const { body } = await purge({ targets: [target] });
    expect(body).toMatchObject({ purged: purged.length, results: [{ target, purged: purged.length }] });
    for (const path of paths)
      expect(`${path} ${await status(path)}`).toBe(`${path} ${purged.includes(path) ? 'MISS' : 'HIT'}`);
  });
}

for (const [zone, how] of [
  ['default', 'exact'],
  ['mine', 'prefix'],
]) {
  test(`the zone "${zone}" means the tags of all caches (${how})`, async (t) => {
    const more = `
      location = /all { cache_purge_api; cache_purge_zone ${zone}; cache_purge_match ${how}; }
      location /b/ { proxy_cache ZONEb; proxy_cache_key $uri; cache_tag_header Cache-Tag;
        add_header X-Cache $upstream_cache_status; proxy_pass http://127.0.0.1:PORT; }`;
    const { gw, status, store } = await begin(t, '', { http: 'cache_tags_zone mine 1m;', more });
    await store('/a', '/b/a', '/c');
    const target = how === 'exact' ? 'page-b/a' : 'page-b';
    const body = JSON.stringify({ targets: [target] });
    const headers = { 'Content-Type': 'application/json' };
    const response = await gw.fetch('/all', { method: 'POST', body, headers });
    expect(JSON.parse(response.body)).toMatchObject({ zone, match: how, purged: 1, missing: 0 });
    expect(await status('/b/a')).toBe('MISS');
    expect(await status('/a')).toBe('HIT');
  });
}

const filesIn = (gw: Gateway): readonly string[] =>
  readdirSync(join(gw.dir, `pages${nth}`), { recursive: true, encoding: 'utf8' });

test('many targets are removed at once, each counted by itself, and their files are gone', async (t) => {
  const { gw, purge, store } = await begin(t);
  const there = Array.from({ length: 20 }, (_, n) => `/there/${n}`);
  await store(...there);
  expect(filesIn(gw)).toHaveLength(20);
  const targets = there.flatMap((key, n) => [key, `/none/${n}`]);
  const { body } = await purge({ targets });
  expect(filesIn(gw)).toEqual([]);
  const results = targets.map((target) => ({ target, purged: Number(target.startsWith('/there')) }));
  expect(body).toMatchObject({ requested: 40, purged: 20, missing: 20, results });
});

test('a response that several targets name counts once, for the first', async (t) => {
  const { purge, store } = await begin(t);
  await store('/a');
  const { body } = await purge({ targets: ['/none', '/a', '/a', '/none'] });
  const results = ['/none', '/a', '/a', '/none'].map((target, nth) => ({
    target,
    purged: Number(nth === 1),
  }));
  expect(body).toMatchObject({ requested: 4, purged: 1, missing: 3, results });
});

test('an empty list of targets removes nothing', async (t) => {
  const { purge, status, store } = await begin(t, 'cache_purge_match prefix; cache_purge_allow_all on;');
  await store('/a');
  const counts = { requested: 0, purged: 0, missing: 0, rejected: 0, results: [] };
  expect(await purge({ targets: [] })).toMatchObject({ status: 200, body: counts });
  expect(await status('/a')).toBe('HIT');
});

test('each variant of a key counts as one', async (t) => {
  const { gw, origin, purge } = await begin(t);
  origin.respond = ({ headers }, response) => {
    response.setHeader('Cache-Control', 'max-age=3600').setHeader('Vary', 'X-Kind');
    response.end(String(headers['x-kind']));
  };
  const statusOf = async (kind: string) =>
    (await gw.fetch('/a', { headers: { 'X-Kind': kind } })).headers.get('x-cache');
  for (const kind of ['one', 'two', 'three']) await expect.poll(() => statusOf(kind)).toBe('HIT');
  expect(await purge({ targets: ['/a'] })).toMatchObject({ body: { purged: 3, missing: 0 } });
  expect(filesIn(gw)).toEqual([]);
  expect(await purge({ targets: ['/a'] })).toMatchObject({ body: { purged: 0, missing: 1 } });
});

const late = [
  { it: 'its tag', targets: ['page-slow'], stored: false },
  { it: 'many other tags', targets: Array.from({ length: 256 }, (_, n) => `other-${n}`), stored: true },
];

for (const { it, targets, stored } of late) {
  test(`a response that began before a purge of ${it} is ${stored ? '' : 'not '}stored`, async (t) => {
    const more = 'location = /metrics { control_api metrics; }';
    const { gw, origin, purge, status } = await begin(t, 'cache_purge_match tag;', { more });
    let end: (() => void) | undefined;
    origin.respond = (_request, response) => {
      response.setHeader('Cache-Control', 'max-age=3600').setHeader('Cache-Tag', 'page-slow');
      end = () => void response.end('x');
    };
    const response = gw.fetch('/slow');
    await expect.poll(() => end).toBeDefined();
    expect(await purge({ targets })).toMatchObject({ body: { purged: 0, missing: targets.length } });
    end?.();
    expect((await response).status).toBe(200);
    origin.respond = (_request, next) => void next.setHeader('Cache-Control', 'no-store').end();
    if (stored) return expect.poll(() => status('/slow')).toBe('HIT');
    const told = new RegExp(`gw_cache_not_stored_total{zone="pages${nth}",reason="purged"} 1`);
    await expect.poll(async () => (await gw.fetch('/metrics')).body).toMatch(told);
    return expect(await status('/slow')).toBe('MISS');
  });
}

const NO_TARGET = 'each target must be a non-empty string';
const refused = [
  { it: 'no JSON', body: '{"targets":', status: 400, error: 'the body is not valid JSON' },
  {
    it: 'a body that is too large',
    body: JSON.stringify({ targets: ['/a'] }) + ' '.repeat(1_048_576),
    status: 413,
    error: 'the body is too large',
  },
  { it: 'no object', body: ['/a'], status: 400, error: 'the body must be an object' },
  { it: 'no targets', body: {}, status: 400, error: "'targets' must be an array" },
  { it: 'another field', body: { targets: ['/a'], x: 1 }, status: 400, error: 'unknown field "x"' },
  { it: 'a number', body: { targets: [1] }, status: 400, error: NO_TARGET },
  { it: 'an empty key', body: { targets: [''] }, status: 400, error: NO_TARGET },
  {
    it: 'a key that is too long',
    body: { targets: ['x'.repeat(4097)] },
    status: 400,
    error: 'target too long',
  },
  {
    it: 'too many targets',
    body: { targets: Array.from({ length: 4 }, (_, n) => `/${n}`) },
    status: 400,
    error: '\'targets\' exceeds "cache_purge_max_keys" (3)',
  },
  {
    it: 'another type',
    body: { targets: ['/a'] },
    headers: { 'Content-Type': 'text/plain' },
    status: 415,
    error: 'content-type must be application/json',
  },
  {
    it: 'a page of another site',
    body: { targets: ['/a'] },
    headers: { Origin: 'http://evil.example' },
    status: 403,
    error: /site|origin|page/i,
  },
  {
    it: 'a client outside of the allowlist',
    body: { targets: ['/a'] },
    conf: 'cache_purge_authorize allowlist; cache_purge_allowlist 10.0.0.0/8 ::1;',
    status: 403,
    error: 'not authorized',
  },
  {
    it: 'an empty prefix',
    body: { targets: [''] },
    conf: 'cache_purge_match prefix;',
    status: 400,
    error: 'an empty prefix needs "cache_purge_allow_all on"',
  },
  {
    it: 'a tag that is too long',
    body: { targets: ['x'.repeat(65)] },
    conf: 'cache_purge_match tag;',
    status: 400,
    error: 'target too long',
  },
];

for (const { it, body, headers, conf = '', status, error } of refused) {
  test(`a purge is refused for ${it}, and removes nothing`, async (t) => {
    const one = await begin(t, `cache_purge_max_keys 3; ${conf}`);
    await one.store('/a');
    const response = await one.purge(body, headers);
    const text = typeof error === 'string' ? error : (expect.stringMatching(error) as string);
    expect(response).toEqual({ status, body: { module: 'cache_purge', status: 'error', error: text } });
    expect(await one.status('/a')).toBe('HIT');
  });
}

test('a purge is refused for a target that is not UTF-8', async (t) => {
  const { gw } = await begin(t);
  const headers = { 'Content-Type': 'application/json' };
  const body = Buffer.from('{"targets":["/\xff"]}', 'latin1');
  const error = 'the body is not valid UTF-8';
  await gw.expect(
    'POST /purge',
    { status: 400, json: { module: 'cache_purge', status: 'error', error } },
    { body, headers },
  );
});

test('only POST purges', async (t) => {
  const { gw } = await begin(t);
  for (const method of ['GET', 'HEAD', 'PUT', 'DELETE']) {
    const response = await gw.fetch('/purge', { method });
    expect([method, response.status, response.headers.get('allow')]).toEqual([method, 405, 'POST']);
  }
});

test('a client in the allowlist may purge', async (t) => {
  const { purge, store } = await begin(
    t,
    'cache_purge_authorize allowlist; cache_purge_allowlist 127.0.0.0/8;',
  );
  await store('/a');
  expect(await purge({ targets: ['/a'] })).toMatchObject({ status: 200, body: { purged: 1 } });
});

const EVENTS = 'cache_purge_worker_events_zone busZONE; cache_purge_worker_events_channel cache;';
const BUS = `location = /events { worker_events_api; worker_events_zone busZONE; worker_events_channel cache;
  worker_events_ring_size 2; }`;

async function eventsOf(gw: Gateway): Promise<readonly { type: string; payload: unknown }[]> {
  const { events } = JSON.parse((await gw.fetch('/events')).body) as {
    events: { type: string; payload: string }[];
  };
  return events.map(({ type, payload }) => ({ type, payload: JSON.parse(payload) as unknown }));
}

test('each target that removed something is an event, and the response counts the events', async (t) => {
  const { gw, purge, store } = await begin(t, EVENTS, { more: BUS });
  await store('/a', '/b', '/c');
  const { body } = await purge({ targets: ['/a', '/none', '/b', '/c'] });
  // The ring has room for two events.
  const counts = { attempted: 3, published: 3, retention_evicted: 1, failed: 0 };
  expect(body).toMatchObject({ worker_events: counts });
  expect(await eventsOf(gw)).toEqual([
    { type: 'purged', payload: { match: 'exact', target: '/b', purged: 1 } },
    { type: 'purged', payload: { match: 'exact', target: '/c', purged: 1 } },
  ]);
});

test('in the mode "summary" a request is one event', async (t) => {
  const { gw, purge, store } = await begin(t, `${EVENTS} cache_purge_worker_events_mode summary;`, {
    more: BUS,
  });
  await store('/a', '/b');
  await purge({ targets: ['/a', '/b', '/none'] });
  await purge({ targets: ['/none'] });
  expect(await eventsOf(gw)).toEqual([
    { type: 'purge_batch', payload: { match: 'exact', requested: 3, purged: 2, missing: 1 } },
  ]);
});

test('the event of a long target has only its beginning', async (t) => {
  const { gw, origin, purge, store } = await begin(t, EVENTS, { more: BUS });
  origin.respond = (_request, response) => response.setHeader('Cache-Control', 'max-age=3600').end();
  const path = `/${'%C3%A4"'.repeat(300).replaceAll('"', '%22')}`;
  await store(path);
  const target = decodeURIComponent(path);
  expect(await purge({ targets: [target] })).toMatchObject({ body: { worker_events: { published: 1 } } });
  const [event] = await eventsOf(gw);
  const shown = (event as { payload: { target: string } }).payload.target;
  expect(shown.length).toBeGreaterThan(50);
  expect(target.startsWith(shown)).toBe(true);
});

test('cache_tags_purge shows the tags, and removes the responses with one', async (t) => {
  const { gw, status, store } = await begin(t);
  await store('/a', '/b');
  const shown = JSON.parse((await gw.fetch('/tags')).body) as { tags: { tag: string; uris: number }[] };
  expect(shown.tags).toEqual(
    expect.arrayContaining([
      { tag: 'all', uris: 2 },
      { tag: 'page-a', uris: 1 },
    ]),
  );
  const response = await gw.fetch('/tags?tag=page-a', { method: 'DELETE' });
  expect(JSON.parse(response.body)).toEqual({ tag: 'page-a', purged: 1, physical_cache_invalidated: true });
  expect(response.headers.get('x-last')).toBe('1|page-a|');
  expect(await status('/b')).toBe('HIT');
  expect(await status('/a')).toBe('MISS');
  for (const query of ['', '?tag=', `?tag=${'x'.repeat(65)}`, '?tag=%FF', '?tag=a&tag=b'])
    await gw.expect(`DELETE /tags${query}`, { status: 400 });
  const headers = { allow: 'GET, HEAD, DELETE', 'x-last': '||method_not_allowed' };
  await gw.expect('POST /tags', { status: 405, headers, json: { error: 'method_not_allowed' } });
});

test('"cache_purge_allowlist" holds for "cache_tags_purge" too', async (t) => {
  const more =
    'location = /own { cache_tags_purge; cache_purge_authorize allowlist; cache_purge_allowlist 10.0.0.0/8; }';
  const { gw, store, status } = await begin(t, '', { more });
  await store('/a');
  const refused = await gw.fetch('/own?tag=all', { method: 'DELETE' });
  expect([refused.status, refused.body]).toEqual([403, '{"status":"error","error":"not authorized"}']);
  expect(await status('/a')).toBe('HIT');
});
