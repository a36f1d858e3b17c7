import { beforeAll, expect, test } from 'vitest';
import { DATA_PATHS } from '../../../../src/modules/control/console/contract.ts';
import { type Gateway, startGateway } from '../../../harness/gateway.ts';
import { wholeFile } from '../../../harness/owner.ts';

const CONF = `
  shared_dict_zone zone=feature_flags:64k;
  server {
    server_name console.example *.ops.example ~^regex;
    location /_gw/ { control_console on; }
    location /api/ { control_api; allow 127.0.0.1; deny all; }
  }
  server { location / { return 200 "other\\n"; } }`;

const file = wholeFile();
let gw: Gateway;
beforeAll(async () => {
  gw = await startGateway(file, CONF);
});

const DATA = Object.values(DATA_PATHS).filter((path) => path !== DATA_PATHS.explain);
const flag = JSON.stringify({ set: { name: 'x', enabled: true, rolloutPct: 100, ttlS: 0 } });
const json = { 'Content-Type': 'application/json' };
const own = { ...json, 'X-Gw-Console': '1' };
const origin = (value: string) => ({ headers: { ...own, Origin: value } });

test('a console or an API without its last slash redirects to the path with it', async () => {
  await gw.expect('GET /_gw', { status: 301, location: `${gw.url}/_gw/` });
  await gw.expect('GET /api?x=1', { status: 301, location: `${gw.url}/api/?x=1` });
});

const hosts = [
  ['127.0.0.1', 200],
  ['127.0.0.1:9999', 200],
  ['[::1]', 200],
  ['localhost', 200],
  ['LOCALHOST:81', 200],
  ['a.localhost', 200],
  ['console.example', 200],
  ['a.ops.example', 200],
  ['evil.example', 421],
  ['localhost.evil.example', 421],
  ['127.0.0.1.evil.example', 421],
  ['regex.example', 421],
] as const;

test.each(hosts)('a request for the host %s gets %d', async (host, status) => {
  const headers = { Host: host };
  for (const path of ['', DATA_PATHS.flags])
    expect((await gw.fetch(`/_gw/${path}`, { headers })).status).toBe(status);
  const write = await gw.fetch(`/_gw/${DATA_PATHS.flags}`, {
    method: 'POST',
    headers: { ...own, Host: host },
    body: flag,
  });
  expect(write.status).toBe(status);
});

test.each(['cross-site', 'same-site'])('a page of another origin gets no data: %s', async (site) => {
  for (const path of DATA) {
    const response = await gw.fetch(`/_gw/${path}`, { headers: { 'Sec-Fetch-Site': site } });
    expect([path, response.status, response.body]).toEqual([
      path,
      403,
      '{"error":"cross-site request refused"}',
    ]);
  }
});

test.each(['same-origin', 'none'])('the page of the console gets data: %s', async (site) => {
  for (const path of DATA) {
    const { status, headers } = await gw.fetch(`/_gw/${path}`, { headers: { 'Sec-Fetch-Site': site } });
    expect([path, status, headers.get('cache-control'), headers.get('content-type')]).toEqual([
      path,
      200,
      'no-store',
      'application/json',
    ]);
  }
});

const refusedWrites = [
  { it: 'without the header', init: { headers: json }, status: 403 },
  { it: 'from another origin', init: origin('http://evil.example'), status: 403 },
  { it: 'from an opaque origin', init: origin('null'), status: 403 },
  { it: 'from the same host by another scheme', init: origin('https://console.example'), status: 403 },
  { it: 'as a form', init: { headers: { ...own, 'Content-Type': 'text/plain' } }, status: 415 },
  { it: 'across sites', init: { headers: { ...own, 'Sec-Fetch-Site': 'cross-site' } }, status: 403 },
];
for (const { it, init, status } of refusedWrites) {
  test(`a write ${it} is refused and changes nothing`, async () => {
    const headers = { Host: 'console.example', ...init.headers };
    const body = JSON.stringify({ set: { name: 'refused', enabled: true } });
    expect((await gw.fetch(`/_gw/${DATA_PATHS.flags}`, { method: 'POST', headers, body })).status).toBe(
      status,
    );
    const { body: flags } = await gw.fetch(`/_gw/${DATA_PATHS.flags}`);
    expect(flags).not.toContain('refused');
  });
}

test('a write from the origin of the console is accepted', async () => {
  const headers = { Host: 'console.example', ...origin('http://console.example').headers };
  const { status, body } = await gw.fetch(`/_gw/${DATA_PATHS.flags}`, {
    method: 'POST',
    headers,
    body: flag,
  });
  expect([status, JSON.parse(body)]).toMatchObject([200, { flags: [{ name: 'x', rolloutPct: 100 }] }]);
});

const methods = [
  ['PUT', '', 'GET, HEAD'],
  ['POST', '', 'GET, HEAD'],
  ['POST', DATA_PATHS.overview, 'GET, HEAD'],
  ['DELETE', DATA_PATHS.flags, 'GET, HEAD, POST'],
] as const;
test.each(methods)('%s /_gw/%s gets 405', async (method, path, allow) => {
  const { status, headers } = await gw.fetch(`/_gw/${path}`, { method, headers: own, body: '{}' });
  expect([status, headers.get('allow')]).toEqual([405, allow]);
});

test('the page forbids every source but itself', async () => {
  const { headers, body } = await gw.fetch('/_gw/');
  const policy = headers.get('content-security-policy') ?? '';
  expect(policy).toMatch(
    /^default-src 'none'; script-src 'sha256-[^ ]+'; style-src 'sha256-[^ ]+'; connect-src 'self';/,
  );
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toContain('unsafe');
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(body).not.toMatch(/(?:src|href)="(?!data:)/);
});
