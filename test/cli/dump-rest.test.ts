import { beforeAll, expect, test } from 'vitest';
import { startGateway } from '../harness/gateway.ts';
import { postgres, type TestDatabase } from '../harness/postgres.ts';
import { directoryWith } from './command.ts';
import { firstAsProgram } from './in-process.ts';

const gw = firstAsProgram();

const FIXTURE = `
create schema api;
create table api.clients (id int primary key, name text not null default 'nobody');
comment on table api.clients is 'Who buys';
create table api.orders (id int primary key, client_id int references api.clients, secret_note text);
create table public.hidden (id int);
create function api.total(since date) returns int language sql stable as 'select 1';
create schema other;
create table other.things (id int primary key);
grant usage on schema api to anon, web_user;
grant select on api.clients to anon;
grant select, insert on api.clients, api.orders to web_user;
`;

let database: TestDatabase;
beforeAll(async () => {
  database = await postgres(FIXTURE);
});

/** The configuration with more directives in its location. */
const confWith = (more: string) => `
http {
    server {
        listen 127.0.0.1:18999;
        server_name shop.test;
        location /rest/ {
            dbrest_pass \${env:GW_T_DSN};
            dbrest_schemas api;
            dbrest_anon_role anon;
        }
        ${more}
    }
}
`;
const OTHER =
  'location ^~ /other/ { dbrest_pass ${env:GW_T_DSN}; dbrest_schemas other; dbrest_jwt_secret kD9vQ2mXz7LwB4nRt8YpJ5sHc3FgUa6E; }';

interface Document {
  readonly openapi: string;
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, object>>;
}

const ROLES = [
  { role: 'anon', args: [], paths: ['/', '/clients', '/rpc/total'] },
  { role: 'web_user', args: ['--role', 'web_user'], paths: ['/', '/clients', '/orders', '/rpc/total'] },
];

for (const { role, args, paths } of ROLES) {
  test(`gw dump openapi prints for ${role} the document of the location`, async (t) => {
    const dir = directoryWith(t, { 'gateway.conf': confWith('') });
    const said = await gw(dir, ['dump', 'openapi', ...args], { GW_T_DSN: database.dsn });
    expect(said).toMatchObject({ code: 0, stderr: '' });
    const { servers, ...printed } = JSON.parse(said.stdout) as Document;
    expect(servers).toEqual([{ url: '/rest' }]);
    expect(Object.keys(printed.paths)).toEqual(paths);
    const gateway = await startGateway(
      t,
      `server { location /rest/ { dbrest_pass ${database.dsn}; dbrest_schemas api; dbrest_anon_role ${role}; } }`,
    );
    const { servers: _servers, ...answered } = JSON.parse((await gateway.fetch('/rest/')).body) as Document;
    expect(printed).toEqual(answered);
  });
}

test('gw dump schema prints tables, relationships and functions of the schemas that are served', async (t) => {
  const dir = directoryWith(t, { 'gateway.conf': confWith(OTHER) });
  const args = ['dump', 'schema', '--location', '/rest/'];
  const said = await gw(dir, args, { GW_T_DSN: database.dsn });
  expect(said).toMatchObject({ code: 0, stderr: '' });
  const dumped = JSON.parse(said.stdout) as {
    tables: { name: string }[];
    functions: unknown[];
    roles: string[];
  };
  expect(dumped.tables.map(({ name }) => name).sort()).toEqual(['clients', 'orders']);
  expect(dumped.tables.find(({ name }) => name === 'clients')).toMatchObject({
    schema: 'api',
    kind: 'table',
    comment: 'Who buys',
    columns: [
      { name: 'id', type: 'integer', isNotNull: true },
      { name: 'name', type: 'text', defaultSql: "'nobody'::text" },
    ],
    primaryKey: ['id'],
    insertable: true,
    relationships: [
      {
        cardinality: 'one-to-many',
        target: 'orders',
        constraint: 'orders_client_id_fkey',
        columns: [['id', 'client_id']],
      },
    ],
  });
  expect(dumped.functions).toEqual([
    expect.objectContaining({
      name: 'total',
      volatility: 'stable',
      returns: { kind: 'scalar', type: 'integer' },
    }),
  ]);
  expect(dumped.roles).toEqual(expect.arrayContaining(['anon', 'web_user', 'authenticator']));
});

const faults: readonly {
  it: string;
  args: readonly string[];
  more?: string;
  dsn?: string;
  code: number;
  says: string | RegExp;
}[] = [
  {
    it: 'two locations serve a database',
    args: ['schema'],
    more: OTHER,
    code: 2,
    says: `gw: several locations serve a database: choose one with --location, by its path or its place
  /rest/ of server "shop.test" in gateway.conf:6
  ^~ /other/ of server "shop.test" in gateway.conf:11
`,
  },
  {
    it: 'no location has this name',
    args: ['openapi', '--location', '/nosuch/'],
    code: 2,
    says: `gw: no location "/nosuch/" serves a database; these do:\n  /rest/ of server "shop.test" in gateway.conf:6\n`,
  },
  {
    it: 'the role does not exist',
    args: ['openapi', '--role', 'nobody'],
    code: 1,
    says: 'gw: role "nobody" does not exist, or the login role may not become it\n',
  },
  {
    it: 'there is no anonymous role',
    args: ['openapi', '--location', '^~ /other/'],
    more: OTHER,
    code: 1,
    says: 'gw: the location has no anonymous role: name a role\n',
  },
  {
    it: 'the schema is not served',
    args: ['openapi', '--schema', 'public'],
    code: 1,
    says: 'gw: schema "public" is not served, expected api\n',
  },
  {
    it: 'the database cannot be reached',
    args: ['schema'],
    dsn: 'postgresql://me:topsecret@127.0.0.1:1/db',
    code: 1,
    says: /^gw: cannot connect to "127\.0\.0\.1:1\/db": .*ECONNREFUSED.*\n$/,
  },
  {
    it: 'the embedded database was never started',
    args: ['schema'],
    dsn: 'embedded:pg',
    code: 1,
    says: 'gw: the embedded database "DIR/pg" does not exist yet: starting the gateway creates it\n',
  },
];

const runFaulty = firstAsProgram();
for (const { it, args, more = '', dsn, code, says } of faults) {
  test(`gw dump reports that ${it}`, async (t) => {
    const dir = directoryWith(t, { 'gateway.conf': confWith(more) });
    const said = await runFaulty(dir, ['dump', ...args], { GW_T_DSN: dsn ?? database.dsn });
    expect(said).toMatchObject({ code, stdout: '' });
    if (typeof says === 'string') expect(said.stderr).toBe(says);
    else expect(said.stderr).toMatch(says);
  });
}

test('gw dump reads an embedded database, whether the gateway runs or not', async (t) => {
  const location =
    'location /rest/ { dbrest_pass embedded:pg; dbrest_embedded_init init.sql; dbrest_anon_role anon; }';
  const init =
    'create role anon; create table things (id int primary key); grant select on things to anon; grant usage on schema public to anon;';
  const gateway = await startGateway(t, `server { ${location} }`, { files: { 'init.sql': init } });
  await gateway.expect('GET /rest/things', { status: 200, body: '[]' });
  const args = ['dump', 'openapi', '-c', gateway.conf, '-p', gateway.dir];
  const running = await gw(gateway.dir, args);
  expect(running).toMatchObject({ code: 0, stderr: '' });
  expect(Object.keys((JSON.parse(running.stdout) as Document).paths)).toEqual(['/', '/things']);
  await gateway.expect('GET /rest/things', { status: 200, body: '[]' });
  await gateway.stop();
  expect((await gw(gateway.dir, args)).stdout).toBe(running.stdout);
});
