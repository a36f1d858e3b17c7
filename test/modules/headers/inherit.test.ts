import { test } from 'vitest';
import { oneGateway } from '../../harness/gateway.ts';

const load = oneGateway();

const HEADERS = ['x-http', 'x-server', 'x-location'];

const cases = [
  { it: 'come down where there are none', conf: '', sees: ['http'] },
  {
    it: 'are dropped by those of a level inside',
    conf: 'add_header X-Location location;',
    sees: ['location'],
  },
  {
    it: 'join those of a level inside with merge',
    conf: 'add_header_inherit merge; add_header X-Location location;',
    sees: ['location', 'http'],
  },
  { it: 'do not come down with off', conf: 'add_header_inherit off;', sees: [] },
  {
    it: 'do not come down with off beside others',
    conf: 'add_header_inherit off; add_header X-Location location;',
    sees: ['location'],
  },
];

for (const { it, conf, sees } of cases) {
  test(`headers of the level above ${it}`, async (t) => {
    const gw = await load(t, `add_header X-Http http; server { location / { ${conf} return 200 text; } }`);
    const expected = Object.fromEntries(
      HEADERS.map((name) => [name, sees.includes(name.slice(2)) ? name.slice(2) : null]),
    );
    await gw.expect('GET /', { status: 200, headers: expected });
  });
}

test('how headers come down comes down itself', async (t) => {
  const gw = await load(
    t,
    `add_header X-Http http; add_header_inherit merge;
     server {
       add_header X-Server server;
       location / { add_header X-Location location; return 200 text; }
       location /off { add_header_inherit off; location /off/in { return 200 text; } }
     }`,
  );
  await gw.expect('GET /', {
    status: 200,
    headers: { 'x-http': 'http', 'x-server': 'server', 'x-location': 'location' },
  });
  await gw.expect('GET /off/in', { status: 200, headers: { 'x-http': null, 'x-server': null } });
});
