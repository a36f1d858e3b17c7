import { expect, test } from 'vitest';
import { oneGateway } from '../../harness/gateway.ts';

const load = oneGateway();

/** A `map` of the decision in the location of the request. */
const MAP = 'map $ngz_canary $side { 1 canary; default stable; }';

const cases = [
  { it: 'sends nobody at 0 %', conf: 'canary_percentage 0;', headers: {}, side: 'stable' },
  { it: 'sends everybody at 100 %', conf: 'canary_percentage 100;', headers: {}, side: 'canary' },
  { it: 'is 0 where nothing is configured', conf: '', headers: {}, side: 'stable' },
  {
    it: 'sends those with the header, in any case',
    conf: 'canary_header X-Canary yes;',
    headers: { 'x-canary': 'YES' },
    side: 'canary',
  },
  {
    it: 'sends nobody with another value',
    conf: 'canary_header X-Canary yes;',
    headers: { 'x-canary': 'yes please' },
    side: 'stable',
  },
  { it: 'sends nobody without the header', conf: 'canary_header X-Canary yes;', headers: {}, side: 'stable' },
  {
    it: 'prefers the header to the percentage',
    conf: 'canary_percentage 0; canary_header X-Canary yes;',
    headers: { 'x-canary': 'yes' },
    side: 'canary',
  },
  {
    it: 'lets the percentage decide about the others',
    conf: 'canary_percentage 100; canary_header X-Canary yes;',
    headers: {},
    side: 'canary',
  },
  {
    it: 'compares with a variable, but not with an empty one',
    conf: 'canary_header X-Canary $arg_none;',
    headers: { 'x-canary': '' },
    side: 'stable',
  },
];
for (const { it, conf, headers, side } of cases) {
  test(`a canary ${it}`, async (t) => {
    const gw = await load(t, `${MAP} server { location / { ${conf} return 200 "$side $ngz_canary"; } }`);
    await gw.expect('GET /', { body: `${side} ${side === 'canary' ? 1 : 0}` }, { headers });
  });
}

test('a location replaces the decision of the server', async (t) => {
  const gw = await load(
    t,
    `server { canary_percentage 100; canary_header X-Canary yes;
       location / { return 200 $ngz_canary; } location /none { canary_percentage 0; return 200 $ngz_canary; } }`,
  );
  await gw.expect('GET /', { body: '1' });
  await gw.expect('GET /none', { body: '0' });
  await gw.expect('GET /none', { body: '1' }, { headers: { 'x-canary': 'yes' } });
});

test('about the configured percentage of many requests goes to the canary, each as a whole', async (t) => {
  const gw = await load(
    t,
    'server { location / { canary_percentage 30; return 200 "$ngz_canary$ngz_canary$ngz_canary"; } }',
  );
  const bodies = await Promise.all(Array.from({ length: 600 }, async () => (await gw.fetch('/')).body));
  expect(new Set(bodies)).toEqual(new Set(['000', '111']));
  const share = bodies.filter((body) => body === '111').length / bodies.length;
  // Nine standard deviations to either side.
  expect(Math.abs(share - 0.3)).toBeLessThan(0.17);
});
