import { test } from 'vitest';
import { oneGateway } from '../../harness/gateway.ts';

const load = oneGateway();

const HEADERS = ['x-http', 'x-server', 'x-location'];

const cases = [
  { it: 'are inherited by a level without its own', conf: '', sees: ['http'] },
  {
    it: 'are replaced by those of an inner level',
    conf: 'add_header X-Location location;',
    sees: ['location'],
  },
  {
    it: 'are added to those of an inner level with merge',
    conf: 'add_header_inherit merge; add_header X-Location location;',
    sees: ['location', 'http'],
  },
  { it: 'are not inherited with off', conf: 'add_header_inherit off;', sees: [] },
  {
    it: 'are not inherited with off beside others',
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

test('add_header_inherit is inherited', async (t) => {
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
