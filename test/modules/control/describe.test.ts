import { expect, test } from 'vitest';
import { ENDPOINTS } from '../../../src/modules/control/inventory.ts';
import { oneGateway, type Gateway } from '../../harness/gateway.ts';

const load = oneGateway({ workers: 2 });

const FLAGS = 'shared_dict_zone zone=feature_flags:64k;';
const inventory = (prefix: string) => ENDPOINTS.map(({ path }) => prefix + path);

const cases = [
  {
    it: 'the inventory below a prefix',
    conf: 'location /runtime/ { control_api; }',
    paths: inventory('/runtime/'),
  },
  {
    it: 'the inventory below a prefix without slash',
    conf: 'location /ops { control_api; }',
    paths: inventory('/ops/'),
    from: '/ops/describe',
  },
  {
    it: 'the inventory of a regex at its own paths',
    conf: 'location ~ ^/runtime/ { control_api; }',
    paths: inventory('/runtime/'),
  },
  {
    it: 'the one endpoint that an exact location serves',
    conf: 'location = /runtime/describe { control_api; } location = /runtime/health { control_api; }',
    paths: ['/runtime/describe', '/runtime/health'],
  },
  {
    it: 'single endpoints at the paths of their locations, in the order of the inventory',
    conf: `location = /healthz { control_api health; } location /d { control_api describe; }
      location ~ ^/(s|sys)$ { control_api system; } location @internal { control_api flag; }`,
    paths: ['/d', '/healthz', '~^/(s|sys)$'],
    from: '/d',
  },
  {
    it: 'nested locations and other servers, each path once',
    conf: `location /a/ { location = /a/h { control_api health; } return 204; }
      location = /d { control_api describe; } } server { server_name two; location = /a/h { control_api health; }
      location = /b { control_api health; }`,
    paths: ['/d', '/a/h', '/b'],
    from: '/d',
  },
];

/** True when one of the servers has this route. The pattern of a regex is not a path and counts as reached. */
async function isReached(gw: Gateway, path: string): Promise<boolean> {
  if (!path.startsWith('/')) return true;
  const responses = await Promise.all(['one', 'two'].map((host) => gw.fetch(path, { headers: { host } })));
  return responses.some(({ status }) => status !== 404);
}

for (const { it, conf, paths, from = '/runtime/describe' } of cases) {
  test(`describe lists ${it}, as text and as JSON`, async (t) => {
    const gw = await load(t, `${FLAGS} server { ${conf} }`);
    const text = await gw.expect(`GET ${from}`, {
      status: 200,
      headers: { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store', vary: 'Accept' },
    });
    const lines = text.body.trimEnd().split('\n');
    expect(lines.map((line) => /^GET (\S+): ./.exec(line)?.[1])).toEqual(paths);

    const headers = { accept: 'application/json' };
    const { body } = await gw.expect(
      `GET ${from}`,
      { status: 200, headers: { 'content-type': 'application/json' } },
      { headers },
    );
    const descriptors = JSON.parse(body) as Record<'name' | 'path' | 'method' | 'description', string>[];
    expect(descriptors.map(({ method, path, description }) => `${method} ${path}: ${description}`)).toEqual(
      lines,
    );
    for (const { name } of descriptors) expect(ENDPOINTS.map((endpoint) => endpoint.name)).toContain(name);
    const reached = await Promise.all(paths.map((path) => isReached(gw, path)));
    expect(reached).toEqual(paths.map(() => true));
  });
}

test('describe lists what the reloaded configuration binds', async (t) => {
  const conf = (more: string) => `server { location = /d { control_api describe; } ${more} }`;
  const gw = await load(t, conf('location = /h { control_api health; }'));
  expect((await gw.fetch('/d')).body).toMatch(/^GET \/d: .*\nGET \/h: .*\n$/);
  expect(await gw.reload(conf('location = /s { control_api system; }'))).toBe('done');
  expect((await gw.fetch('/d')).body).toMatch(/^GET \/d: .*\nGET \/s: .*\n$/);
});

const accepts = [
  { accept: 'application/json', json: true },
  { accept: 'text/html, application/json;q=0.9', json: true },
  { accept: 'Application/JSON; charset=utf-8', json: true },
  { accept: '*/*', json: false },
  { accept: 'text/plain', json: false },
  { accept: 'application/json;q=0', json: false },
  { accept: 'application/json-patch+json', json: false },
];
test('describe gives JSON when Accept names it', async (t) => {
  const gw = await load(t, 'server { location = /d { control_api describe; } }');
  for (const { accept, json } of accepts) {
    const { headers } = await gw.fetch('/d', { headers: { accept } });
    expect(headers.get('content-type'), accept).toBe(json ? 'application/json' : 'text/plain; charset=utf-8');
  }
});
