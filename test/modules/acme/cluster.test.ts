import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startGateway } from '../../harness/gateway.ts';
import { redis, type TestRedis } from '../../harness/redis.ts';
import { authorityAt, freePorts, orderingConf, shownCertificate } from './ordering.ts';

const ISSUED = /certificate "a\.test" of issuer "le": issued/;
const TAKEN = /certificate "a\.test" of issuer "le": taken over from another gateway/;
const SECRET = 'a secret of the tests';

function clusterOf(id: string, url: string): string {
  return `cluster main { backend ${url}; node_id ${id}; secret "${SECRET}"; heartbeat 500ms; batch 10ms; } acme_cluster main;`;
}

/** All that the store has, as text. */
async function contentOf(client: TestRedis['client']): Promise<string> {
  const all = (await client.keys('*')).map(async (key) => {
    const type = await client.type(key);
    if (type === 'hash') return [key, await client.hgetall(key)];
    if (type === 'stream') return [key, await client.xrange(key, '-', '+')];
    return [key, type === 'string' ? await client.get(key) : type];
  });
  return JSON.stringify(await Promise.all(all));
}

test('two gateways order once, any of them is asked for the challenge, and both show the certificate', async (t) => {
  const store = await redis();
  const [one, other] = [await freePorts(), await freePorts()];
  const authority = await authorityAt(t, one);
  const start = (id: string, ports: typeof one): ReturnType<typeof startGateway> =>
    startGateway(t, orderingConf(authority, ports, { http: clusterOf(id, store.url) }), {
      port: ports.plain,
      fresh: true,
    });
  const [a, b] = await Promise.all([start('a', one), start('b', other)]);
  await Promise.all([a, b].map((gw) => gw.waitForLog(new RegExp(`${ISSUED.source}|${TAKEN.source}`))));
  const shown = await Promise.all([one, other].map(({ tls }) => shownCertificate(tls, 'a.test')));
  expect(shown[0]).toBeDefined();
  expect(shown[0]?.fingerprint256).toBe(shown[1]?.fingerprint256);
  expect(authority.issued).toHaveLength(1);
  // Only one of them was asked: the authority validates at the ports of the first.
  const logs = a.errorLog() + b.errorLog();
  expect(logs.match(new RegExp(ISSUED, 'g'))).toHaveLength(1);
  expect(logs.match(new RegExp(TAKEN, 'g'))).toHaveLength(1);

  const kept = [a, b].map((gw) =>
    readFileSync(join(gw.dir, 'state', 'certificates', 'a.test', 'pair.pem'), 'utf8'),
  );
  expect(kept[0]).toBe(kept[1]);
  const dump = await contentOf(store.client);
  const key = kept[0]?.split('-----BEGIN PRIVATE KEY-----\n')[1]?.slice(0, 40) ?? 'no key';
  expect(key).toMatch(/^[\w+/]{40}$/);
  expect(dump).not.toContain(key);
  expect(dump).not.toContain('BEGIN');
  expect(dump).not.toContain('a.test');
});
