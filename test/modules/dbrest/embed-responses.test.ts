import type { SentResponse } from '../../harness/test-wire.ts';
import { beforeAll, expect, test } from 'vitest';
import { startGateway } from '../../harness/gateway.ts';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';
import { sharedDirect } from './direct.ts';
import { SHOP } from './shop.ts';

let db: TestDatabase;
beforeAll(async () => {
  db = await postgres(SHOP);
});

const compiled = sharedDirect();
const get = async (target: string, headers = {}, config = {}): Promise<SentResponse> =>
  (await compiled(db.dsn, config)).get(`/api/${target}`, headers);

test('an ambiguous embed gets 300 and the choices', async () => {
  const { status, headers, body } = await get('orders?select=addresses(id)');
  expect([status, headers['proxy-status']]).toEqual([300, 'gw; error=PGRST201']);
  expect(Object.keys(JSON.parse(body) as object)).toEqual(['code', 'details', 'hint', 'message']);
  expect(JSON.parse(body)).toMatchObject({ details: [{ cardinality: 'many-to-one' }, {}] });
});

test('a read with embeds is available as JSON only', async () => {
  const accept = { accept: 'text/csv' };
  expect((await get('projects?select=id,clients(name)', accept)).status).toBe(406);
  expect((await get('projects?select=id,clients()', accept)).status).toBe(200);
  expect((await get('projects?select=id,clients(name)', { accept: '*/*' })).status).toBe(200);
});

test('the count of a read respects its inner embeds', async () => {
  const target = 'projects?select=id,clients!inner(name)&clients.city=eq.Rome&limit=1';
  const { status, headers } = await get(target, { prefer: 'count=exact' });
  expect([status, headers['content-range']]).toEqual([206, '0-0/2']);
});

test('dbrest_aggregates off refuses aggregates', async () => {
  expect((await get('projects?select=count()')).body).toBe('[{"count":4}]');
  expect(await get('projects?select=count()', {}, { aggregates: false })).toMatchObject({
    status: 400,
    headers: { 'proxy-status': 'gw; error=PGRST123' },
  });
});

test('dbrest_max_rows bounds embeds too', async () => {
  const { body } = await get(
    'clients?select=projects(id)&id=eq.1&projects.order=id',
    {},
    { maxRows: { usual: 1, named: [] } },
  );
  expect(JSON.parse(body)).toEqual([{ projects: [{ id: 1 }] }]);
});

test('a computed column is found in the extra search path', async () => {
  const target = 'projects?select=secret_label&limit=1';
  expect((await get(target)).status).toBe(400);
  expect((await get(target, {}, { extraSearchPath: ['public', 'hidden'] })).status).toBe(200);
});

test('a read with embeds works through the gateway', async (t) => {
  const gw = await startGateway(
    t,
    `server { location /api/ { dbrest_pass ${db.dsn}; dbrest_anon_role anon; dbrest_aggregates off; } }`,
  );
  const select = 'select=name,projects!inner(name,tasks(name,users(name)))';
  await gw.expect(
    `GET /api/clients?${select}&projects.tasks.done=is.true&or=(name.eq.Bolt,city.like.R*)&order=name.desc&limit=1`,
    {
      status: 200,
      json: [
        { name: 'Bolt', projects: [{ name: 'Data', tasks: [{ name: 'load', users: [{ name: 'Dee' }] }] }] },
      ],
    },
  );
  await gw.expect('GET /api/clients?select=count()', {
    status: 400,
    headers: { 'proxy-status': 'gw; error=PGRST123' },
  });
});
