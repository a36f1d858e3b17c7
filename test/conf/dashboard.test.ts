import { expect, test, vi } from 'vitest';
import { startGateway } from '../harness/gateway.ts';
import { startPeer } from '../harness/peer.ts';
import { postgres } from '../harness/postgres.ts';
import { redis } from '../harness/redis.ts';
import { textOf } from './files.ts';

/** Made by parts that this gateway does not have: an exporter for OpenTelemetry, and certificates. */
const ELSEWHERE = /^gw_(?:otel_|certificate_)/;

/** The names in all expressions of the dashboard. */
const wanted = [
  ...new Set(
    [...textOf('conf/deploy/grafana/gw.json').matchAll(/\b((?:gw|nginx|process)_\w+)\{/g)].map(
      ([, name]) => name,
    ),
  ),
].filter((name = '') => !ELSEWHERE.test(name));

test('a gateway that serves has the metrics of every panel', async (t) => {
  const [database, store, peer] = await Promise.all([
    postgres('create table public.things (id int); grant select on public.things to anon;'),
    redis('--maxclients', '131'),
    startPeer(t, 'up'),
  ]);
  const gw = await startGateway(
    t,
    `cluster main { backend redis://127.0.0.1:${store.port}; node_id a; namespace panels; secret ${'s'.repeat(40)}; }
     proxy_cache_path cache keys_zone=panels:1m;
     upstream app { server 127.0.0.1:${peer.port}; }
     server {
       location = /metrics { control_api metrics; }
       location = /cached { proxy_cache panels; proxy_cache_valid 200 1m; proxy_pass http://app; }
       location = /kv { kv_pass 127.0.0.1:${store.port}; kv_key $uri; }
       location = /lost { kv_pass 127.0.0.1:1; kv_key $uri; }
       location /rest/ { dbrest_pass ${database.dsn}; dbrest_anon_role anon; }
       location = /token { auth_jwt api; auth_jwt_key_request http://127.0.0.1:${peer.port}/keys; echo in; } }`,
    { fresh: true },
  );
  const ask = () =>
    Promise.all(['/cached', '/kv', '/lost', '/rest/things', '/token'].map((path) => gw.fetch(path)));
  await vi.waitFor(
    async () => {
      await ask();
      const { body } = await gw.fetch('/metrics');
      const given = new Set(body.split('\n').map((line) => /^\w+/.exec(line)?.[0]));
      expect(wanted.filter((name) => !given.has(name))).toEqual([]);
    },
    { timeout: 20_000, interval: 200 },
  );
  expect(wanted.length).toBeGreaterThan(40);
});
