import { expect, test, type TestContext } from 'vitest';
import { type Gateway, startGateway } from '../harness/gateway.ts';
import { openEvents } from '../harness/event-source.ts';
import { call } from '../harness/http.ts';
import { watchSql } from '../../src/modules/dbrest/tools/watch-sql.ts';
import { freePort } from '../harness/ports.ts';
import { postgres } from '../harness/postgres.ts';
import { redis } from '../harness/redis.ts';
import { wholeFile } from '../harness/owner.ts';
import { Certificates } from '../harness/certificates.ts';
import { bearer, sign } from '../harness/tokens.ts';
import { CLIENT_SECRET, type FakeProvider, startProvider } from '../modules/auth_oidc/provider.ts';
import { startMetadata } from '../modules/auth_jwt/issuer.ts';
import { Visitor } from '../modules/auth_oidc/visitor.ts';
import { type Collector, startCollector } from '../harness/collector.ts';
import { type AcmeAuthority, type Hold, startAuthority } from '../harness/acme-authority.ts';
import { shownCertificate } from '../modules/acme/ordering.ts';
import { startPeer } from '../harness/peer.ts';
import type { Example } from './example.ts';
import { EXAMPLES, httpOf, textOf } from './files.ts';
import { SITE_EXAMPLES } from './site-examples.ts';

const file = wholeFile();

let acme: AcmeAuthority | undefined;
let mayOrder: Hold | undefined;
let acmePort = 0;
let operatorsPort = 0;
let collector: Collector | undefined;
let loginProvider: FakeProvider | undefined;
let tokenIssuer: Awaited<ReturnType<typeof startMetadata>> | undefined;

/** The key in `issuer-keys.json`. */
const EXAMPLE_KEY = Buffer.from('bm90IGEgc2VjcmV0OiB0aGlzIGtleSBpcyBwYXJ0IG9mIGFuIGV4YW1wbGU', 'base64url');

const json = { 'Content-Type': 'application/json' };

/** What each example promises, called as its reader would call it. */
const examples: Readonly<Record<string, Example>> = {
  ...SITE_EXAMPLES,
  'feature-flags.conf': {
    env: async () => ({ OPERATORS: `127.0.0.1:${(operatorsPort ||= await freePort())}` }),
    calls: async (gw) => {
      await gw.expect('GET /', {
        status: 200,
        body: 'new shop: 0, banner: 0\n',
        headers: { 'x-new-shop': '0' },
      });
      const { body } = await call(operatorsPort, '/runtime/flag/set?name=new_shop&rollout_pct=50&ttl_s=0');
      expect(JSON.parse(body)).toMatchObject({ status: 'ok', rollout_pct: '50', ttl_s: '0' });
      await call(operatorsPort, '/runtime/flag/set?name=banner');
      const visits = Array.from({ length: 40 }, (_, n) =>
        gw.fetch('/', { headers: { cookie: `user=u${n}` } }),
      );
      const shown = new Set((await Promise.all(visits)).map((visit) => visit.body));
      expect(shown).toEqual(new Set(['new shop: 0, banner: 1\n', 'new shop: 1, banner: 1\n']));
      await expect.poll(() => gw.output()).toMatch(/^127\.0\.0\.1 "GET \/ HTTP\/1\.1" 200 new_shop=1$/m);
    },
  },
  'api-keys.conf': {
    files: { 'api-keys': textOf('conf/examples/api-keys') },
    calls: async (gw) => {
      const [key = ''] = /gwk_\w+/.exec(textOf('conf/examples/api-keys.conf')) ?? [];
      await gw.expect('GET /', {
        status: 401,
        headers: { 'www-authenticate': 'ApiKey realm="weather"' },
      });
      const { headers } = await gw.expect(
        'GET /',
        { status: 200, body: 'hello example\n' },
        { headers: { 'x-api-key': key } },
      );
      expect(headers.get('ratelimit')).toMatch(/^"keys";r=20;t=\d+, "daily";r=999;t=\d+$/);
    },
  },
  'acme.conf': {
    env: async (t) => {
      acme = await startAuthority(t);
      mayOrder = acme.hold('newOrder');
      acmePort = await freePort();
      return {
        ACME_DIRECTORY: acme.url,
        ACME_STATE: 'off',
        HTTPS: `127.0.0.1:${acmePort}`,
      };
    },
    calls: async (gw) => {
      if (acme) acme.network.httpPort = gw.port;
      mayOrder?.release();
      const shown = async (): Promise<string | undefined> =>
        (await shownCertificate(acmePort, 'www.shop.example'))?.subjectAltName;
      await expect.poll(shown, { timeout: 15_000 }).toBe('DNS:shop.example, DNS:www.shop.example');
      await gw.expect('GET /cart?n=1', {
        status: 301,
        headers: { location: 'https://shop.example/cart?n=1' },
      });
      await gw.expect('GET /.well-known/acme-challenge/unknown', { status: 301 });
    },
  },
  'login.conf': {
    env: async (t) => {
      loginProvider = await startProvider(t);
      const up = await startPeer(t, 'up', ({ headers }, response) =>
        response.end(`${String(headers['x-user'])} ${headers.cookie ?? 'no cookie'}`),
      );
      return {
        ISSUER: loginProvider.issuer,
        CLIENT_SECRET,
        UPSTREAM: `127.0.0.1:${up.port}`,
      };
    },
    calls: async (gw) => {
      const visitor = new Visitor();
      expect(await visitor.follow(gw.url)).toMatchObject({ status: 200, body: 'ann no cookie' });
      const left = await visitor.open(`${gw.url}/logout`);
      expect(left.headers.get('location')).toContain(`${loginProvider?.issuer}/logout?client_id=gateway&`);
      expect(await visitor.open(`${gw.url}/goodbye`)).toMatchObject({ status: 200, body: 'goodbye\n' });
      await gw.expect('GET /', { status: 401 });
    },
  },
  'tracing.conf': {
    env: async (t) => {
      collector = await startCollector(t, { protocol: 'grpc' });
      const shop = await startPeer(t, 'shop');
      return { COLLECTOR: `127.0.0.1:${collector.port}`, SHOP: `127.0.0.1:${shop.port}` };
    },
    calls: async (gw) => {
      const trace = '0af7651916cd43dd8448eb211c80319c';
      const headers = { traceparent: `00-${trace}-b9c7c989f97918e1-01` };
      await gw.expect('GET /shop/', { status: 200, headers: { 'x-trace-id': trace } }, { headers });
      const isOurs = ({ traceId }: { readonly traceId: string }): boolean => traceId === trace;
      await collector?.waitFor(
        () => collector?.spans().filter(isOurs).length === 2,
        'span of the request and its try',
      );
    },
  },
  'tokens.conf': {
    files: { 'issuer-keys.json': textOf('conf/examples/issuer-keys.json') },
    calls: async (gw) => {
      const as = (claims: object) => ({ headers: bearer(sign(claims, { secret: EXAMPLE_KEY })) });
      await gw.expect('GET /orders', {
        status: 401,
        headers: { 'www-authenticate': 'Bearer realm="orders", scope="orders.read"' },
      });
      await gw.expect('GET /orders', { status: 403 }, as({ sub: 'ann', aud: 'shop' }));
      const reader = { sub: 'ann', aud: 'shop', scope: 'orders.read' };
      await gw.expect('GET /orders', { status: 200, body: 'orders of ann\n' }, as(reader));
      await gw.expect('POST /orders', { status: 403 }, as(reader));
      const writer = { ...reader, scope: 'orders.read orders.write' };
      await gw.expect('POST /orders', { status: 200, body: 'orders of ann\n' }, as(writer));
      await gw.expect('GET /admin', { status: 403 }, as(reader));
      await gw.expect(
        'GET /admin',
        { status: 200, body: 'tenant 7\n' },
        as({ ...reader, app: { tenantId: 7, admin: true } }),
      );
    },
  },
  'issuers.conf': {
    env: async (t) => ({ ISSUER: (tokenIssuer ??= await startMetadata(t)).iss }),
    files: { 'issuer-keys.json': textOf('conf/examples/issuer-keys.json') },
    calls: async (gw) => {
      const host = { host: 'localhost' };
      const ann = sign({ iss: tokenIssuer?.iss, sub: 'ann' });
      const partner = { iss: 'https://partners.example', sub: 'bob', aud: 'shop' };
      const bob = sign(partner, { secret: EXAMPLE_KEY });
      const as = (token: string) => ({ headers: { ...host, ...bearer(token) } });

      await gw.expect('GET /orders', { body: 'orders of ann, one of the staff\n' }, as(ann));
      await gw.expect('GET /orders', { body: 'orders of bob, one of the partners\n' }, as(bob));
      await gw.expect('GET /admin', { status: 200, body: 'administration\n' }, as(ann));
      await gw.expect('GET /admin', { status: 401 }, as(bob));
      const { headers } = await gw.fetch('/orders', { headers: host });
      expect(headers.get('www-authenticate')).toContain(
        `resource_metadata="http://localhost:${gw.port}/.well-known/oauth-protected-resource"`,
      );
    },
  },
  'mcp-oauth.conf': {
    env: async (t) => {
      tokenIssuer ??= await startMetadata(t);
      const { dsn } = await postgres('create schema api; grant usage on schema api to web_user');
      return { ISSUER: tokenIssuer.iss, DATABASE_URL: dsn };
    },
    calls: async (gw) => {
      const tools = `http://localhost:${gw.port}/rest/mcp`;
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
      const ask = (headers: Record<string, string>) =>
        gw.fetch('/rest/mcp', { method: 'POST', body, headers: { ...json, host: 'localhost', ...headers } });
      const refused = (await ask({})).headers.get('www-authenticate') ?? '';
      const [, metadata = ''] = /resource_metadata="([^"]+)"/.exec(refused) ?? [];
      const found = await gw.fetch(new URL(metadata).pathname, { headers: { host: 'localhost' } });
      const expected = { resource: tools, authorization_servers: [tokenIssuer?.iss] };
      expect(JSON.parse(found.body)).toMatchObject(expected);
      const claims = { iss: tokenIssuer?.iss, role: 'web_user' };
      expect((await ask(bearer(sign(claims)))).status).toBe(401);
      expect((await ask(bearer(sign({ ...claims, aud: tools })))).body).toContain('list_tables');
    },
  },
  'key-value.conf': {
    env: async () => ({ REDIS: `127.0.0.1:${(await redis()).port}` }),
    calls: async (gw) => {
      await gw.expect('POST /hits', { status: 200, json: { value: 1 } });
      await gw.expect('POST /hits', { status: 200, json: { value: 2 } });
      await gw.expect('GET /sessions/?id=7', {
        status: 200,
        json: { value: null },
        headers: { 'x-found': '0' },
      });
      await gw.expect('GET /ping', { status: 200, json: { ok: true } });
    },
  },
  'key-value-tls.conf': {
    env: async () => {
      const files = new Certificates();
      files.authority('ca');
      files.signed('store', 'ca', { names: ['redis.internal'] });
      files.signed('gateway', 'ca');
      const port = await freePort();
      const pair = ['--tls-cert-file', files.path('store.crt'), '--tls-key-file', files.path('store.key')];
      await redis('--tls-port', String(port), ...pair, '--tls-ca-cert-file', files.path('ca.crt'));
      return {
        REDIS: `127.0.0.1:${port}`,
        STORE_CA: files.path('ca.crt'),
        CERTIFICATE: files.path('gateway.crt'),
        KEY: files.path('gateway.key'),
      };
    },
    calls: async (gw) => {
      await gw.expect('POST /hits', { status: 200, json: { value: 1 } });
      await gw.expect('GET /ping', { status: 200, json: { ok: true } });
    },
  },
  'cluster-node.conf': {
    hasOwnPort: true,
    env: async (_t, port) => ({ REDIS: (await redis()).url, PORT: String(port), PUBLISH_KEY: 'key' }),
    calls: async (gw) => {
      await expect.poll(async () => (await gw.fetch('/ready')).status).toBe(200);
      const headers = { ...json, 'X-Publish-Key': 'key' };
      for (const path of ['/events', '/orders/events'])
        await gw.expect(`POST ${path}`, { status: 200 }, { headers, body: '{"type":"done"}' });
      const { events } = JSON.parse((await gw.fetch('/orders/events')).body) as {
        events: readonly unknown[];
      };
      expect(events).toMatchObject([{ type: 'done', origin: 'gw-a', seq: 1 }]);
      await gw.expect('GET /whoami', { status: 200, body: 'gw-a\n' });
      const told = JSON.parse((await gw.fetch('/runtime/cluster')).body) as object;
      expect(told).toMatchObject({ clusters: [{ name: 'main', node_id: 'gw-a', state: 'up' }] });
    },
  },
  'operating.conf': {
    env: async () => ({ OPERATORS: `127.0.0.1:${(operatorsPort ||= await freePort())}` }),
    calls: async (gw) => {
      await gw.expect('GET /', { status: 200, body: 'hello\n' });
      await gw.expect('GET /cache/a', { status: 200 });
      const ask = (path: string) => call(operatorsPort, path);
      expect((await ask('/metrics')).body).toMatch(
        /^gw_http_requests_total\{server="shop\.example",location="\/"/m,
      );
      expect(JSON.parse((await ask('/ready')).body)).toMatchObject({ status: 'pass' });
      expect((await ask('/live')).status).toBe(200);
      expect((await ask('/status')).body).toMatch(/^Active connections: \d+ \n/);
      expect((await ask('/_gw/')).body).toContain('<title>gw console</title>');
      expect(JSON.parse((await ask('/_gw/data/overview')).body)).toMatchObject({
        locations: expect.arrayContaining([expect.objectContaining({ server: 'shop.example' })]) as unknown,
      });
    },
  },
  'rest.conf': {
    env: async () => {
      const { dsn } = await postgres(`
        create table fruit (id int primary key, name text);
        insert into fruit values (1, 'apple'), (2, 'pear');
        grant select on fruit to anon;`);
      return { DATABASE_URL: dsn };
    },
    calls: async (gw) => {
      await gw.expect('GET /api/fruit?select=name&id=gt.1', { status: 200, json: [{ name: 'pear' }] });
    },
  },
  'live.conf': {
    env: async () => {
      const { dsn } = await postgres(`
        create table fruit (id int primary key, name text, stock int);
        insert into fruit values (1, 'apple', 3), (2, 'pear', 0);
        grant select on fruit to anon;
        ${watchSql([{ schema: 'public', name: 'fruit' }])}`);
      return { DATABASE_URL: dsn };
    },
    calls: async (gw) => {
      const source = await openEvents(file, `${gw.url}/api/fruit?select=name&stock=gt.0`);
      expect(await source.until(1)).toMatchObject([{ event: 'snapshot', data: '[{"name":"apple"}]' }]);
      source.close();
      const events = await openEvents(file, `${gw.url}/events`);
      expect(events.response.statusCode).toBe(200);
      events.close();
    },
  },
  'rest-functions.conf': {
    env: async () => {
      const { dsn } = await postgres(`
        create table fruit (id int primary key, name text, stock int);
        insert into fruit values (1, 'apple', 3), (2, 'pear', 4);
        create function total(above int default 0) returns bigint stable language sql
          as $$ select sum(stock) from fruit where stock > above $$;
        grant select on fruit to anon;`);
      return { DATABASE_URL: dsn };
    },
    calls: async (gw) => {
      await gw.expect('GET /rest/v1/fruit?select=name&id=eq.1', { status: 200, json: [{ name: 'apple' }] });
      await gw.expect('GET /rest/v1/rpc/total?above=3', { status: 200, json: 4 });
      await gw.expect('GET /api/fruit?select=name&id=eq.2', { status: 200, json: [{ name: 'pear' }] });
      await gw.expect('POST /rpc/total', { status: 200, json: 7 }, { headers: json, body: '{}' });
      await gw.expect('GET /api/rpc/total', { status: 404 });
      await gw.expect('GET /rpc/fruit', { status: 404 });
    },
  },
  'logs.conf': {
    calls: async (gw) => {
      const sent = { headers: { 'X-Request-ID': 'abc-1' } };
      await gw.expect('GET /', { status: 200, headers: { 'X-Request-ID': 'abc-1' } }, sent);
      await gw.expect('GET /closed', { status: 403 }, sent);
      await expect.poll(() => gw.output()).toMatch(/^\{"time":.*"uri":"\/closed".*"request_id":"abc-1"/m);
      await expect
        .poll(() => gw.output())
        .toMatch(/^\{"timestamp":.*"request_id":"abc-1".*"team":"shop"\}$/m);
    },
  },
  'virtual-hosts.conf': {
    calls: async (gw) => {
      const as = (host: string) => ({ headers: { Host: host } });
      await gw.expect('GET /', { status: 200, body: 'the site\n' }, as('www.example.com'));
      await gw.expect('GET /', { status: 200, body: 'tenant blue\n' }, as('blue.apps.test'));
      expect(await gw.raw('GET / HTTP/1.1\r\nHost: other.test\r\n\r\n')).toBe('');
    },
  },
  'worker-events.conf': {
    env: () => Promise.resolve({ PUBLISH_KEY: 'the-key-of-this-test' }),
    calls: async (gw) => {
      const path = '/internal/worker-events';
      await gw.expect(`POST ${path}`, { status: 401 }, { headers: json, body: '{"type":"x"}' });
      const published = {
        headers: { ...json, 'X-Publish-Key': 'the-key-of-this-test' },
        body: '{"type":"x"}',
      };
      await gw.expect(`POST ${path}`, { status: 200 }, published);
      const { body } = await gw.fetch(path);
      expect(JSON.parse(body)).toMatchObject({ channel: 'deploy', capacity: 256, newest_generation: 1 });
    },
  },
};

test('every example is called', () => expect(Object.keys(examples).toSorted()).toEqual(EXAMPLES));

/** A variable of an example, under a name that no other example has: so one gateway has the variables of all. */
const variable = (example: string, name: string): string =>
  `${example.toUpperCase().replaceAll(/\W/g, '_')}_${name}`;

let variables: Promise<Record<string, string>> | undefined;
async function variablesOfAll(): Promise<Record<string, string>> {
  const all: Record<string, string> = {};
  for (const [example, { env, hasOwnPort }] of Object.entries(examples))
    if (env && !hasOwnPort)
      for (const [name, value] of Object.entries(await env(file, 0))) all[variable(example, name)] = value;
  return all;
}

async function startExample(t: TestContext, name: string): Promise<Gateway> {
  const { env, files = {}, hasOwnPort = false } = examples[name] ?? {};
  const text = textOf(`conf/examples/${name}`);
  if (hasOwnPort) {
    const port = await freePort();
    return startGateway(t, httpOf(text, port), { port, files, env: (await env?.(t, port)) ?? {} });
  }
  const named = text.replaceAll('${env:', `\${env:${variable(name, '')}`);
  const options = { files, env: await (variables ??= variablesOfAll()), fresh: false };
  return startGateway(t, (_, port) => httpOf(named, port), options);
}

for (const [name, { calls }] of Object.entries(examples)) {
  test(`conf/examples/${name} behaves as its comments say`, async (t) => {
    const gw = await startExample(t, name);
    await calls(gw);
    expect(gw.errorLog()).not.toMatch(/\[error\]/);
  });
}
