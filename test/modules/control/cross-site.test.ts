import { expect, test } from 'vitest';
import { ENDPOINTS } from '../../../src/modules/control/inventory.ts';
import { oneGateway, startGateway } from '../../harness/gateway.ts';
import type { CallInit } from '../../harness/http.ts';
import { error } from './cases/case.ts';

const load = oneGateway();

const conf = (more: string) =>
  `shared_dict_zone zone=feature_flags:64k;
  server { server_name ops.example *.ops.example ~regex; location /runtime/ { control_api; ${more} } }`;
const WRITES = [
  'flag/set?name=x',
  'flag/unset?name=x',
  'cache/probe?dict=feature_flags',
  'session/probe?dict=feature_flags',
];
const PROBES = ENDPOINTS.filter(({ isProbe }) => isProbe).map(({ path }) => path);
const READS = ENDPOINTS.filter(({ writes, isProbe }) => !writes && !isProbe).map(
  ({ path }) => `${path}?name=x`,
);

const NO_NAME = /^"[^"]+" is no name of this server$/;
const CROSS_SITE = /^cross-site request refused$/;
const CROSS_ORIGIN = /^cross-origin request refused$/;

/** A caller, and the message that refuses its write or its read; the port of the gateway replaces PORT. */
const callers = [
  { it: 'a program', headers: {} },
  { it: 'a program that uses a name', headers: { Host: 'ops.example:PORT' } },
  { it: 'a program that uses a wildcard', headers: { Host: 'a.ops.example' } },
  { it: 'a program on this machine', headers: { Host: 'localhost:PORT' } },
  { it: 'a program that uses an IPv6 address', headers: { Host: '[::1]:PORT' } },
  { it: 'a person who types the address', headers: { 'Sec-Fetch-Site': 'none' } },
  { it: 'a page of ours', headers: { 'Sec-Fetch-Site': 'same-origin', Origin: 'http://127.0.0.1:PORT' } },
  { it: 'a page under a name of ours', headers: { Host: 'ops.example', Origin: 'http://ops.example' } },
  { it: 'a program in the same network', headers: { Host: 'gw:PORT' }, write: NO_NAME },
  { it: 'a program in a cluster', headers: { Host: 'gw.prod.svc.cluster.local' }, write: NO_NAME },
  {
    it: 'a page of a name that leads here',
    headers: { Host: 'evil.example' },
    write: NO_NAME,
    read: NO_NAME,
    probe: true,
  },
  {
    it: 'a page of a name that leads here, which is its own origin',
    headers: { Host: 'evil.example', Origin: 'http://evil.example' },
    write: NO_NAME,
    read: NO_NAME,
    probe: true,
  },
  {
    it: 'a page of a name that looks like ours',
    headers: { Host: 'ops.example.evil.example' },
    write: NO_NAME,
    read: NO_NAME,
    probe: true,
  },
  {
    it: 'a page of a name that looks like an address',
    headers: { Host: '127.0.0.1.nip.example' },
    write: NO_NAME,
    read: NO_NAME,
    probe: true,
  },
  { it: 'a page of a name of a regex', headers: { Host: 'regex' }, write: NO_NAME },
  {
    it: 'a page of another site',
    headers: { 'Sec-Fetch-Site': 'cross-site' },
    write: CROSS_SITE,
    read: CROSS_SITE,
  },
  { it: 'a page of another name of the site', headers: { 'Sec-Fetch-Site': 'same-site' }, write: CROSS_SITE },
  {
    it: 'a foreign origin',
    headers: { Origin: 'http://evil.example' },
    write: CROSS_ORIGIN,
    read: CROSS_ORIGIN,
  },
  { it: 'an opaque origin', headers: { Origin: 'null' }, write: CROSS_ORIGIN, read: CROSS_ORIGIN },
  { it: 'another port', headers: { Origin: 'http://127.0.0.1:1' }, write: CROSS_ORIGIN, read: CROSS_ORIGIN },
  {
    it: 'another scheme',
    headers: { Origin: 'https://127.0.0.1:PORT' },
    write: CROSS_ORIGIN,
    read: CROSS_ORIGIN,
  },
] as const;

function initOf(headers: Readonly<Record<string, string>>, port: number): CallInit {
  const entries = Object.entries(headers).map(([name, value]) => [name, value.replace('PORT', String(port))]);
  return { headers: Object.fromEntries(entries) as Record<string, string> };
}

test('the headers that a browser sends about a page decide whether it may read and write', async (t) => {
  const gw = await load(t, conf(''));
  const trees = ENDPOINTS.filter(({ isTree }) => isTree);
  expect(READS.length + WRITES.length + PROBES.length + trees.length).toBe(ENDPOINTS.length);
  for (const { it, headers, ...refusals } of callers) {
    const init = initOf(headers, gw.port);
    const expected = [
      { paths: WRITES, refusal: 'write' in refusals ? refusals.write : undefined },
      { paths: READS, refusal: 'read' in refusals ? refusals.read : undefined },
      { paths: PROBES, refusal: 'read' in refusals && !('probe' in refusals) ? refusals.read : undefined },
    ];
    for (const { paths, refusal } of expected) {
      for (const path of paths) {
        const { status, headers: got, body } = await gw.fetch(`/runtime/${path}`, init);
        expect({ it, path, status }).toEqual({ it, path, status: refusal ? 403 : 200 });
        if (!refusal) continue;
        expect(got.get('cache-control')).toBe('no-store');
        expect((JSON.parse(body) as { message: string }).message).toMatch(refusal);
      }
    }
  }
});

const SURFACES = `
  proxy_cache_path cache keys_zone=c:1m;
  upstream app { server 10.0.0.1:80; dynamic_upstreams_managed; }
  server {
    server_name ops.example;
    location = /metrics { control_api metrics; }
    location = /api { dynamic_upstreams_api; dynamic_upstreams_target app; }
    location = /tags { cache_tags_purge; }
    location = /balancer { upstream_balancer_status; }
    location = /health { health_status; }
    location = /health-metrics { health_metrics; }
    location = /stub { stub_status; }
    location = /cached/ { proxy_cache c; proxy_pass http://app/; }
  }`;
const PAGE = { Host: 'evil.example', 'Accept-Language': 'en' };
const askers = [
  { it: 'the address', headers: {}, status: 200 },
  {
    it: 'a name of ours in a browser',
    headers: { Host: 'ops.example', 'Accept-Language': 'en' },
    status: 200,
  },
  { it: 'a foreign name in a browser', headers: PAGE, status: 403 },
  { it: 'a foreign name in a program', headers: { Host: 'evil.example' }, status: 403, stub: 200 },
  { it: 'another site', headers: { 'Sec-Fetch-Site': 'cross-site' }, status: 403 },
];
for (const { it, headers, status, stub = status } of askers) {
  test(`what operators read is ${status === 200 ? 'shown' : 'not shown'} under ${it}`, async (t) => {
    const gw = await load(t, SURFACES);
    for (const path of ['/metrics', '/api', '/tags', '/balancer', '/health', '/health-metrics', '/stub']) {
      const expected = path === '/stub' ? stub : status;
      const { status: got, body } = await gw.fetch(path, { headers });
      expect({ path, got }).toEqual({ path, got: expected });
      if (expected === 403) expect(body).toMatch(/"evil\.example\\?" is no name|cross-site request refused/);
    }
  });
}

test('a refused write changes nothing', async (t) => {
  const gw = await startGateway(t, conf(''), { fresh: false });
  const init = { headers: { Host: 'evil.example' } };
  const expected = { status: 403, json: error('"evil.example" is no name of this server') };
  await gw.expect('GET /runtime/flag/set?name=x', expected, init);
  await gw.expect('HEAD /runtime/flag/set?name=x', { status: 403 }, init);
  await gw.expect('GET /runtime/flags', { json: [] });
});

test('control_cross_site on allows all callers', async (t) => {
  const gw = await load(t, conf('control_cross_site on;'));
  for (const { headers } of callers) {
    const init = initOf(headers, gw.port);
    for (const path of [...WRITES, ...READS, ...PROBES])
      await gw.expect(`GET /runtime/${path}`, { status: 200 }, init);
  }
});
