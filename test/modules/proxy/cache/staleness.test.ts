import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { gatewayPerOptions } from '../../../harness/gateway.ts';
import { cached, cacheStatus, clockOfFile, type Origin, startOrigin } from './origin.ts';

type Respond = Origin['respond'];

const load = gatewayPerOptions();
const { options, passed } = clockOfFile();

/** Responds with a body that is fresh for ten seconds. */
const fresh =
  (body: string, control = 'max-age=10'): Respond =>
  (_request, response) =>
    void response.writeHead(200, { 'Cache-Control': control, ETag: `"${body}"` }).end(body);
const cut: Respond = (request) => request.socket.destroy();
const fault: Respond = (_request, response) => void response.writeHead(500).end('fault');
const absent: Respond = (_request, response) => void response.writeHead(404).end('absent');
const same: Respond = (request: IncomingMessage, response: ServerResponse) =>
  void response.writeHead(request.headers['if-none-match'] === '"one"' ? 304 : 500).end();

test('the age of a stored response is in whole seconds since it was stored or renewed', async (t) => {
  const origin = await startOrigin(t);
  origin.respond = fresh('one');
  const gw = await load(
    t,
    cached(origin, 'proxy_cache_revalidate on; add_header X-Age $upstream_cache_age;'),
    options,
  );
  const age = async (): Promise<string> => {
    const { headers } = await gw.fetch('/a');
    return `${headers.get('x-cache')} ${headers.get('x-age') ?? ''}`;
  };
  expect(await age()).toBe('MISS ');
  passed(7);
  expect(await age()).toMatch(/^HIT [78]$/);
  origin.respond = same;
  passed(20);
  expect(await age()).toMatch(/^REVALIDATED/);
  passed(25);
  expect(await age()).toMatch(/^HIT [56]$/);
});

const expired: readonly {
  it: string;
  conf?: string;
  first?: Respond;
  then: Respond;
  sees: readonly string[];
}[] = [
  { it: 'is fetched again', then: fresh('two'), sees: ['EXPIRED two', 'HIT two'] },
  {
    it: 'is served after a connection error that use_stale names',
    conf: 'proxy_cache_use_stale error;',
    then: cut,
    sees: ['STALE one', 'STALE one'],
  },
  { it: 'is not served after another connection error', then: cut, sees: ['EXPIRED 502'] },
  {
    it: 'is served instead of a status that use_stale names',
    conf: 'proxy_cache_use_stale http_500;',
    then: fault,
    sees: ['STALE one', 'STALE one'],
  },
  {
    it: 'is not served instead of another status',
    conf: 'proxy_cache_use_stale http_500;',
    then: absent,
    sees: ['EXPIRED absent'],
  },
  {
    it: 'is served after errors as its stale-if-error says',
    first: fresh('one', 'max-age=10, stale-if-error=100'),
    then: cut,
    sees: ['STALE one'],
  },
  {
    it: 'is not served instead of a 500 to which its stale-if-error does not apply',
    first: fresh('one', 'max-age=10, stale-if-error=100'),
    then: fault,
    sees: ['EXPIRED fault'],
  },
  {
    it: 'is not served when its stale-if-error has passed',
    first: fresh('one', 'max-age=10, stale-if-error=1'),
    then: cut,
    sees: ['EXPIRED 502'],
  },
  {
    it: 'is revalidated with its ETag, and renewed by a 304',
    conf: 'proxy_cache_revalidate on;',
    then: same,
    sees: ['REVALIDATED one', 'HIT one'],
  },
  {
    it: 'is replaced if the upstream has another',
    conf: 'proxy_cache_revalidate on;',
    then: fresh('two'),
    sees: ['EXPIRED two', 'HIT two'],
  },
];

for (const { it, conf = '', first = fresh('one'), then, sees } of expired) {
  test(`an expired response ${it}`, async (t) => {
    const origin = await startOrigin(t);
    const gw = await load(t, cached(origin, conf), options);
    origin.respond = first;
    expect(await cacheStatus(gw)).toBe('MISS one');
    passed(9);
    expect(await cacheStatus(gw)).toBe('HIT one');
    origin.respond = then;
    passed(12);
    for (const line of sees) {
      const [status = '', body = ''] = line.split(' ');
      const seen = await cacheStatus(gw);
      if (/^\d/.test(body)) expect(seen.startsWith(status)).toBe(true);
      else expect(seen).toBe(line);
    }
  });
}

test('a stale response is served at once, and updated by a separate request', async (t) => {
  const origin = await startOrigin(t);
  const conf = 'proxy_cache_use_stale updating; proxy_cache_background_update on;';
  const gw = await load(t, cached(origin, conf), options);
  origin.respond = fresh('one');
  expect(await cacheStatus(gw)).toBe('MISS one');
  passed(12);
  let release = (): void => undefined;
  origin.respond = (request, response) => {
    release = () => fresh('two')(request, response);
  };
  expect(await cacheStatus(gw)).toBe('STALE one');
  expect(await cacheStatus(gw)).toBe('UPDATING one');
  await expect.poll(() => origin.heard()).toContain('GET /a');
  release();
  await expect.poll(() => cacheStatus(gw)).toBe('HIT two');
});

test('while a response is updated, others get the stale one within stale-while-revalidate', async (t) => {
  const origin = await startOrigin(t);
  const gw = await load(t, cached(origin), options);
  origin.respond = fresh('one', 'max-age=10, stale-while-revalidate=30');
  expect(await cacheStatus(gw)).toBe('MISS one');
  passed(12);
  let release = (): void => undefined;
  origin.respond = (request, response) => {
    release = () => fresh('two')(request, response);
  };
  origin.heard();
  const first = cacheStatus(gw);
  await expect.poll(() => origin.heard()).toContain('GET /a');
  expect(await cacheStatus(gw)).toBe('UPDATING one');
  release();
  expect(await first).toBe('EXPIRED two');
});

test('a response that came expired is served while it is updated, within stale-while-revalidate', async (t) => {
  const origin = await startOrigin(t);
  const gw = await load(t, cached(origin, 'proxy_cache_background_update on;'), options);
  origin.respond = (request, response) => {
    response.setHeader('X-Accel-Expires', '@1');
    fresh('one', 'stale-while-revalidate=2140000000')(request, response);
  };
  expect(await cacheStatus(gw)).toBe('MISS one');
  expect(await cacheStatus(gw)).toBe('STALE one');
});

test("the gateway's own 502 is remembered as long as proxy_cache_valid says", async (t) => {
  const origin = await startOrigin(t);
  const gw = await load(t, cached(origin, 'proxy_cache_valid 502 10s;'), options);
  origin.respond = cut;
  expect(await cacheStatus(gw)).toMatch(/^MISS .*502 Bad Gateway/s);
  origin.respond = fresh('one');
  expect(await cacheStatus(gw)).toMatch(/^HIT .*502 Bad Gateway/s);
  passed(12);
  expect(await cacheStatus(gw)).toBe('MISS one');
});

for (const workers of [1, 4]) {
  test(`with the lock, ${workers} workers send one request for a cold key`, async (t) => {
    const origin = await startOrigin(t);
    const gw = await load(t, cached(origin, 'proxy_cache_lock on;'), { workers });
    const waiting: (() => void)[] = [];
    origin.respond = (request, response) => void waiting.push(() => fresh('one')(request, response));
    const asked = Array.from({ length: 100 }, () => cacheStatus(gw));
    await expect.poll(() => waiting.length).toBe(1);
    for (const release of waiting) release();
    const seen = await Promise.all(asked);
    expect(seen.filter((line) => line === 'MISS one')).toHaveLength(1);
    expect(seen.filter((line) => line === 'HIT one')).toHaveLength(99);
    expect(origin.heard()).toHaveLength(1);
  });
}

test('with the lock, one request is sent for a cold key whose responses vary', async (t) => {
  const origin = await startOrigin(t);
  const gw = await load(t, cached(origin, 'proxy_cache_lock on;'), { workers: 4 });
  origin.respond = (_request, response) => {
    response.writeHead(200, { 'Cache-Control': 'max-age=10', Vary: 'X-Kind' });
    response.write('on');
    setTimeout(() => response.end('e'), 50);
  };
  const seen = await Promise.all(Array.from({ length: 50 }, () => cacheStatus(gw)));
  expect(seen.toSorted()).toEqual([...Array.from({ length: 49 }, () => 'HIT one'), 'MISS one']);
  expect(origin.heard()).toHaveLength(1);
});

const impatient: readonly { it: string; conf: string; then: string }[] = [
  {
    it: 'that waits too long is sent to the upstream, and its response is not stored',
    conf: 'proxy_cache_lock_timeout 20ms;',
    then: 'MISS one',
  },
  {
    it: 'takes over a lock that is too old, and stores the response',
    conf: 'proxy_cache_lock_age 20ms;',
    then: 'HIT two',
  },
];

for (const { it, conf, then } of impatient) {
  test(`a request ${it}`, async (t) => {
    const origin = await startOrigin(t);
    const gw = await load(t, cached(origin, `proxy_cache_lock on; ${conf}`));
    let release = (): void => undefined;
    origin.respond = (request, response) => {
      release = () => fresh('one')(request, response);
    };
    const first = cacheStatus(gw);
    await expect.poll(() => origin.heard()).toHaveLength(1);
    origin.respond = fresh('two');
    const releaseFirst = release;
    expect(await cacheStatus(gw)).toBe('MISS two');
    if (then === 'HIT two') expect(await cacheStatus(gw)).toBe(then);
    releaseFirst();
    expect(await first).toBe('MISS one');
    if (then === 'MISS one') expect(await cacheStatus(gw)).toBe('HIT one');
  });
}

test('a fetch continues when its client has left', async (t) => {
  const origin = await startOrigin(t);
  const gw = await load(t, cached(origin));
  let release = (): void => undefined;
  origin.respond = (request, response) => {
    release = () => fresh('one')(request, response);
  };
  const client = await gw.connect();
  client.write('GET /a HTTP/1.1\r\nHost: a\r\n\r\n');
  await expect.poll(() => origin.heard()).toHaveLength(1);
  client.destroy();
  await gw.waitForLog(/client prematurely closed connection/);
  release();
  await expect.poll(() => cacheStatus(gw)).toBe('HIT one');
});
