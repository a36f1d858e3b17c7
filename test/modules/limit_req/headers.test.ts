import { expect, test } from 'vitest';
import { type Gateway, oneGateway } from '../../harness/gateway.ts';

const load = oneGateway();

/** Counts outlive a reload: each test has keys of its own. */
const conf = (location: string, rate = '1r/m'): string => `
  limit_req_zone $arg_k zone=l:1m rate=${rate}; limit_req_zone $arg_m zone=m:1m rate=1r/s;
  quota_zone $arg_k zone=q:1m limit=9/month;
  server { location / { ${location} echo ok; } }`;

interface Told {
  readonly status: number;
  readonly policy: string | null;
  readonly limits: readonly string[];
  /** `t` of the first limit, and `Retry-After`. */
  readonly whole: number;
  readonly after: number;
}

async function told(gw: Gateway, query: string): Promise<Told> {
  const { status, headers } = await gw.fetch(`/?${query}`);
  const text = headers.get('ratelimit') ?? '';
  return {
    status,
    policy: headers.get('ratelimit-policy'),
    limits: [...text.matchAll(/"(\w+)";r=(\d+);t=\d+/g)].map(([, name, left]) => `${name} ${left}`),
    whole: Number(/;t=(\d+)/.exec(text)?.[1]),
    after: Number(headers.get('retry-after')),
  };
}

test('responses tell the burst that is left, and refusals when to come again', async (t) => {
  const gw = await load(
    t,
    conf('limit_req zone=l burst=2 nodelay; limit_req_headers on; limit_req_status 429;'),
  );
  for (const [nth, left] of [2, 1, 0].entries()) {
    const { status, policy, limits, whole, after } = await told(gw, 'k=a');
    expect({ status, policy, limits, after }).toEqual({
      status: 200,
      policy: '"l";q=3;w=188',
      limits: [`l ${left}`],
      after: 0,
    });
    expect(whole).toBeLessThanOrEqual(63 * (nth + 1));
    expect(whole).toBeGreaterThan(30 * (nth + 1));
  }
  const { status, limits, whole, after } = await told(gw, 'k=a');
  expect({ status, limits }).toEqual({ status: 429, limits: ['l 0'] });
  expect(whole).toBeGreaterThan(60);
  expect(after).toBeGreaterThanOrEqual(whole);
});

test('a limit without a burst allows one request in its window', async (t) => {
  const gw = await load(t, conf('limit_req zone=l; limit_req_headers on;', '30r/s'));
  const { policy, whole } = await told(gw, 'k=b');
  expect([policy, whole]).toEqual(['"l";q=1;w=1', 1]);
});

test('several limits are a list together with quotas, and a limit without a key is left out', async (t) => {
  const gw = await load(
    t,
    conf('limit_req zone=l burst=4 nodelay; limit_req zone=m; quota zone=q; limit_req_headers on;'),
  );
  expect((await told(gw, 'k=c&m=c')).limits).toEqual(['l 4', 'm 0', 'q 8']);
  expect((await told(gw, 'k=c')).limits).toEqual(['l 3', 'q 7']);
  expect((await told(gw, '')).limits).toEqual([]);
});

test('each module has its own switch, and a dry run tells as well', async (t) => {
  const gw = await load(t, conf('limit_req zone=l; quota zone=q; limit_req_dry_run on;'));
  for (const left of ['q 8', 'q 7']) {
    const { status, limits, after } = await told(gw, 'k=d');
    expect([status, limits, after]).toEqual([200, [left], 0]);
  }
  const other = await load(
    t,
    conf('limit_req zone=l; quota zone=q; quota_headers off; limit_req_headers on; limit_req_dry_run on;'),
  );
  for (const status of [200, 200]) {
    const found = await told(other, 'k=e');
    expect([found.status, found.limits, found.after]).toEqual([status, ['l 0'], 0]);
  }
});

test('headers of an upstream under these names are replaced, and not added to', async (t) => {
  const gw = await load(
    t,
    `limit_req_zone $arg_k zone=l:1m rate=1r/m;
     server {
       location /up { add_header RateLimit '"up";r=1;t=1'; return 200 ok; }
       location / { limit_req zone=l burst=1; limit_req_headers on; proxy_pass http://127.0.0.1:$server_port/up; }
     }`,
  );
  const { headers } = await gw.fetch('/?k=f');
  expect(headers.get('ratelimit')).toMatch(/^"l";r=1;t=\d+$/);
});
