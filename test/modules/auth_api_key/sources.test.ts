import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { type Gateway, oneGateway, startGateway } from '../../harness/gateway.ts';
import { redis } from '../../harness/redis.ts';

const load = oneGateway({ workers: 2 });

const keyOf = (id: string): string => `gwk_${id}_0123456789abcdef`;
const digestOf = (id: string): string => createHash('sha256').update(keyOf(id)).digest('hex');

const conf = (source: string, http = ''): string => `${http}
  server {
    location / { auth_api_key shop; ${source} echo -n "$api_key_id $api_key_plan"; }
    location /kv/ { control_api keyval; }
  }`;

const ZONE = 'keyval_zone zone=keys:64k;';
const FILE = { keys: `filed:${digestOf('filed')}::plan=paper\n` };

const call = (gw: Gateway, id: string) => gw.fetch('/', { headers: { 'x-api-key': keyOf(id) } });

async function outcome(gw: Gateway, id: string): Promise<string> {
  const { status, body } = await call(gw, id);
  return status === 200 ? body : String(status);
}

/** Gives a key to the dictionary, or takes it away. */
async function setKey(gw: Gateway, id: string, value: string | null): Promise<void> {
  const init = (method: string) => ({ method, body: JSON.stringify({ [digestOf(id)]: value }) });
  const { status } = await gw.fetch('/kv/keys', init('PATCH'));
  if (status === 404 && value !== null) await gw.fetch('/kv/keys', init('POST'));
}

test('a key of a dictionary counts from when it is there until it is not', async (t) => {
  const gw = await load(t, conf('auth_api_key_dict keys;', ZONE));
  expect(await outcome(gw, 'ann')).toBe('401');
  await setKey(gw, 'ann', 'ann::plan=gold');
  expect(await outcome(gw, 'ann')).toBe('ann gold');
  await setKey(gw, 'ann', 'ann');
  expect(await outcome(gw, 'ann')).toBe('ann ');
  await setKey(gw, 'ann', 'ann:2020-01-01T00:00:00Z:plan=gold');
  expect(await outcome(gw, 'ann')).toBe('401');
  await gw.waitForLog(/\[info\] .*the API key "ann" has expired/);
  await setKey(gw, 'ann', null);
  expect(await outcome(gw, 'ann')).toBe('401');
});

test('a malformed value of a dictionary is told, and does not say that the key is unknown', async (t) => {
  const gw = await load(t, conf('auth_api_key_dict keys;', ZONE));
  await setKey(gw, 'bad', 'bad:soon');
  const { status, headers } = await call(gw, 'bad');
  expect([status, headers.get('retry-after')]).toEqual([503, '5']);
  await gw.waitForLog(/\[error\] .*the value of an API key in the dictionary "keys" is malformed/);
});

test('a dictionary that any directive declares has keys, and files are asked first', async (t) => {
  const http = 'shared_dict_zone zone=keys:64k;';
  const gw = await load(t, conf('auth_api_key_file keys; auth_api_key_dict keys;', http), FILE);
  expect(await outcome(gw, 'filed')).toBe('filed paper');
  expect(await outcome(gw, 'ann')).toBe('401');
});

test('a key of the store counts as long as it is known, and no longer', async (t) => {
  const { client, port } = await redis();
  const source = `auth_api_key_file keys; auth_api_key_redis 127.0.0.1:${port} a:; auth_api_key_cache 50ms;`;
  const gw = await load(t, conf(source), FILE);
  await client.hset(`a:${digestOf('ann')}`, { id: 'ann', plan: 'gold', expires: '2999-01-01' });
  await client.hset(`a:${digestOf('old')}`, { id: 'old', expires: 1_000_000 });
  expect(await outcome(gw, 'ann')).toBe('ann gold');
  expect(await outcome(gw, 'old')).toBe('401');
  expect(await outcome(gw, 'eve')).toBe('401');
  expect(await outcome(gw, 'filed')).toBe('filed paper');
  await client.del(`a:${digestOf('ann')}`);
  await expect.poll(() => outcome(gw, 'ann')).toBe('401');
  await client.hset(`a:${digestOf('ann')}`, { id: 'ann' });
  await expect.poll(() => outcome(gw, 'ann')).toBe('ann ');
});

const malformed = [
  { it: 'without an id', fields: { plan: 'gold' } },
  { it: 'with an id that is none', fields: { id: 'a b' } },
  { it: 'with a time that is none', fields: { id: 'ann', expires: 'soon' } },
  { it: 'with an attribute that is none', fields: { id: 'ann', '1x': 'y' } },
];
for (const { it, fields } of malformed)
  test(`a hash ${it} is told, and does not say that the key is unknown`, async (t) => {
    const { client, port } = await redis();
    const gw = await load(t, conf(`auth_api_key_redis 127.0.0.1:${port} m:;`));
    await client.del(`m:${digestOf('bad')}`);
    await client.hset(`m:${digestOf('bad')}`, fields);
    expect(await outcome(gw, 'bad')).toBe('503');
    await gw.waitForLog(/\[error\] .*the hash of an API key is malformed/);
  });

test('a name that has another type is told without the name', async (t) => {
  const { client, port } = await redis();
  const gw = await load(t, conf(`auth_api_key_redis 127.0.0.1:${port} t:;`));
  await client.set(`t:${digestOf('ann')}`, 'text');
  expect(await outcome(gw, 'ann')).toBe('503');
  await gw.waitForLog(/\[error\] .*the store of API keys refuses "hgetall": 127\.0\.0\.1:\d+: WRONGTYPE/);
  expect(gw.errorLog()).not.toContain(digestOf('ann'));
});

test('while the store is away known keys are accepted and others get 503, until it is back', async (t) => {
  const server = await redis('--maxclients', '50');
  const source = `auth_api_key_redis 127.0.0.1:${server.port} a:; auth_api_key_cache 1ms;`;
  const gw = await startGateway(t, conf(source));
  await server.client.hset(`a:${digestOf('ann')}`, { id: 'ann' });
  expect(await outcome(gw, 'ann')).toBe('ann ');
  await server.stop();
  await gw.waitForLog(/\[error\] .*auth_api_key: no connection to 127/);
  expect(await outcome(gw, 'ann')).toBe('ann ');
  expect(await outcome(gw, 'eve')).toBe('503');
  await server.start();
  await gw.waitForLog(/\[notice\] .*auth_api_key: connected to 127[^]*connected to 127/);
  expect(await outcome(gw, 'eve')).toBe('401');
  expect(await outcome(gw, 'ann')).toBe('401');
});

test('requests with one key at one time ask the store once, and a hung store keeps none of them for long', async (t) => {
  const server = await redis('--maxclients', '51');
  const gw = await startGateway(t, conf(`auth_api_key_redis 127.0.0.1:${server.port} a:;`));
  await server.client.hset(`a:${digestOf('ann')}`, { id: 'ann' });
  await server.client.config('RESETSTAT');
  const all = await Promise.all(Array.from({ length: 20 }, () => outcome(gw, 'ann')));
  expect(new Set(all)).toEqual(new Set(['ann ']));
  expect(await server.client.info('commandstats')).toContain('cmdstat_hgetall:calls=1,');
  server.signal('SIGSTOP');
  try {
    const others = await Promise.all(['b', 'c', 'd'].map((id) => outcome(gw, id)));
    expect(others).toEqual(['503', '503', '503']);
    expect(await outcome(gw, 'ann')).toBe('ann ');
  } finally {
    server.signal('SIGCONT');
  }
});

test('an id is known before the request is counted, also when the store has to be asked', async (t) => {
  const { client, port } = await redis();
  await client.hset(`q:${digestOf('ann')}`, { id: 'ann' });
  const gw = await load(
    t,
    conf(
      `auth_api_key_redis 127.0.0.1:${port} q:; auth_api_key_cache 0s; limit_req zone=l; limit_req_status 429;`,
      'limit_req_zone $api_key_id zone=l:1m rate=1r/m;',
    ),
  );
  expect([await outcome(gw, 'ann'), await outcome(gw, 'ann')]).toEqual(['ann ', '429']);
  expect([await outcome(gw, 'eve'), await outcome(gw, 'eve')]).toEqual(['401', '401']);
});
