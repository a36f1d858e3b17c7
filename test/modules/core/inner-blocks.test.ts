import { beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../harness/gateway.ts';
import { wholeFile } from '../../harness/owner.ts';
import { postgres } from '../../harness/postgres.ts';
import { MODULES } from '../../../src/modules/index.ts';

/** Directives that serve a location, and the response to a POST. */
const SERVED = [
  { by: 'dbrest_pass', serve: 'dbrest_pass $dsn; dbrest_anon_role anon;', path: 'items', status: 201 },
  { by: 'kv_pass', serve: 'kv_pass embedded; kv_command set; kv_key k;', path: '', status: 200 },
  {
    by: 'worker_events_api',
    serve: 'worker_events_api; worker_events_zone ring; worker_events_channel c;',
    path: '',
    status: 400,
  },
  { by: 'echo', serve: 'echo hello;', path: '', status: 200 },
  { by: 'control_api', serve: 'control_api health;', path: '', status: 405 },
  { by: 'prometheus_metrics', serve: 'prometheus_metrics;', path: '', status: 405 },
  { by: 'stub_status', serve: 'stub_status;', path: '', status: 405 },
  { by: 'health_status', serve: 'health_status;', path: '', status: 405 },
  { by: 'upstream_balancer_status', serve: 'upstream_balancer_status;', path: '', status: 405 },
  {
    by: 'dynamic_upstreams_api',
    serve: 'dynamic_upstreams_api; dynamic_upstreams_target group;',
    path: '',
    status: 405,
  },
];

const file = wholeFile();
let gw: Gateway;
beforeAll(async () => {
  const { dsn } = await postgres('create table items (id int); grant select, insert on items to anon;');
  const locations = SERVED.map(({ by, serve }) => {
    const all = serve.replace('$dsn', dsn);
    return `
      location /limited/${by}/ { ${all} limit_except GET { allow all; } }
      location /denied/${by}/ { ${all} limit_except GET { deny all; } }
      location /condition/${by}/ { ${all} if ($request_method = POST) { set $seen yes; } }
      location /other/${by}/ { ${all} if ($request_method = POST) { proxy_pass http://127.0.0.1:1; } }`;
  });
  gw = await startGateway(
    file,
    `upstream group { zone group 64k; server 127.0.0.1:1; }
     server { ${locations.join('')} }`,
  );
});

for (const { by, path, status } of SERVED) {
  const post = async (block: string): Promise<number> =>
    (
      await gw.fetch(`/${block}/${by}/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{}',
      })
    ).status;

  test(`${by} serves the methods that a limit_except allows, and no others`, async () => {
    expect([await post('limited'), await post('denied')]).toEqual([status, 403]);
  });

  test(`${by} serves the requests of an if without another handler`, async () => {
    expect(await post('condition')).toBe(status);
  });

  test(`${by} is replaced by the handler of an if`, async () => {
    expect(await post('other')).toBe(502);
  });
}

test('each directive that serves a location serves its nameless blocks', () => {
  const fields = MODULES.flatMap(({ directives, content = [] }) =>
    Object.entries(directives as Record<string, { into: string; inherit?: unknown }>)
      .filter(([, { into }]) => [content].flat().includes(into))
      .map(([name, { inherit }]) => [name, inherit]),
  );
  expect(fields.length).toBeGreaterThan(20);
  expect(fields.filter(([, inherit]) => inherit !== 'nameless')).toEqual([]);
});
