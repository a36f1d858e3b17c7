import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { mostNodes } from '../../../src/cluster/index.ts';
import { check, load, ruleCatalogue } from '../../../src/pipeline.ts';
import { startLightNode } from '../../cluster/keys.ts';
import { freshNamespace } from '../../cluster/stores.ts';
import { startEmbeddedPostgres } from '../../../src/modules/dbrest/embedded/index.ts';
import { startCollector } from '../../harness/collector.ts';
import { freePort } from '../../harness/ports.ts';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';
import { redis } from '../../harness/redis.ts';
import { oldPostgres } from './live/old-postgres.ts';

const { rules: RULES } = await ruleCatalogue();

const SCHEMA = `
  create schema api;
  create schema closed;
  grant usage on schema api to anon;
  create table api.clients (id int primary key, name text);
  create table api.orders (
    id int primary key, client_id int references api.clients, parent_id int references api.orders
  );
  create index on api.orders (parent_id);
  create table api.notes (id int primary key);
  alter table api.notes enable row level security;
  create table closed.books (id int primary key);
  create schema shown;
  grant usage on schema shown to anon;
  create schema hidden;
  create table hidden.authors (id int primary key);
  create view shown.authors with (security_invoker = true) as select id from hidden.authors;
  create table shown.notes (
    id int primary key, book_id int references closed.books, author_id int references hidden.authors
  );
  grant select on api.clients, api.notes to anon;
  grant insert on api.orders to anon;
  grant select on closed.books to anon;
  create schema secured;
  grant usage on schema secured to anon, web_user;
  create table secured.notes (id int primary key, owner name);
  create table secured.members (team_id int, user_name name, primary key (team_id, user_name));
  create table secured.teams (id int primary key);
  alter table secured.notes enable row level security;
  alter table secured.members enable row level security;
  alter table secured.teams enable row level security;
  create policy own on secured.notes using (owner = current_user);
  create policy mates on secured.members to anon
    using (team_id in (select m.team_id from secured.members m where m.user_name = current_user));
  create policy of_others on secured.members to web_user
    using (exists (select from secured.teams t where t.id = team_id));
  create policy own on secured.teams to web_user
    using (id in (select m.team_id from secured.members m));
  create policy adding on secured.notes for insert with check (exists (select from secured.notes n where n.id = 0));
  create view secured.all_notes as select id from secured.notes;
  create view secured.more_notes with (security_invoker = true) as select id from secured.all_notes;
  create view secured.own_notes with (security_invoker = true) as select id from secured.notes;
  create view secured.unseen as select id from secured.notes;
  create materialized view secured.stored_notes as select id from secured.notes;
  grant select on secured.notes, secured.members, secured.all_notes, secured.more_notes, secured.own_notes, secured.stored_notes to anon;
  grant select on secured.members, secured.teams to web_user;
  create function secured.find(key int) returns int language sql as 'select 1';
  create function secured.find(key text) returns int language sql as 'select 1';
  create function secured.find(key text, more text) returns int language sql as 'select 1';
  create function secured.seek(key int) returns int language sql as 'select 1';
  create function secured.seek(key int, more text default '') returns int language sql as 'select 1';
  create function secured.seen(key int) returns int language sql as 'select 1';
  create function secured.seen(id text) returns int language sql as 'select 1';
  create role live_owner login superuser;
  create role live_backup login bypassrls;
  grant anon to live_backup;`;

let db: TestDatabase;
beforeAll(async () => {
  db = await postgres(SCHEMA);
});

const LIVE: ReadonlySet<string> = new Set(RULES.flatMap(({ live, id }) => (live ? id : [])));
const met = new Set<string>();

/** The findings that `--live` adds, as `GW650 message`. */
async function found(server: string, http = '', main = ''): Promise<readonly string[]> {
  const text = `${main} http { ${http} server { listen 127.0.0.1:8080; ${server} } }`;
  const loaded = load({ confFile: '/gw.conf', name: 'gw.conf', prefix: '/', text });
  expect(loaded.report.faults).toEqual([]);
  const findings = await check(loaded, { live: true });
  for (const { rule } of findings) if (LIVE.has(rule)) met.add(rule);
  return findings.flatMap(({ rule, message }) => (LIVE.has(rule) ? `${rule} ${message}` : []));
}

const rest = (dsn: string, more = 'dbrest_schemas closed; dbrest_anon_role anon;'): string =>
  `location /api/ { dbrest_pass ${dsn}; ${more} }`;

/** A directory that root cannot read either. */
function loop(): string {
  const dir = mkdtempSync(join(tmpdir(), 'gw-live-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  symlinkSync('loop', join(dir, 'loop'));
  return join(dir, 'loop');
}

const as = (user: string): string => db.dsn.replace('authenticator', user);

const databases: readonly { it: string; conf: () => string; says: readonly string[] }[] = [
  { it: 'is in order', conf: () => rest(db.dsn), says: [] },
  {
    it: 'is the embedded one, which is not there yet',
    conf: () => rest('embedded:/nowhere'),
    says: ['GW661 the embedded database "/nowhere" does not exist yet and was not checked'],
  },
  {
    it: 'is the embedded one, whose directory cannot be read',
    conf: () => rest(`embedded:${loop()}`),
    says: [
      expect.stringMatching(
        /^GW656 .*: access\(\) ".*\/loop\/PG_VERSION" failed \(40: Too many levels of symbolic links\)$/,
      ) as string,
    ],
  },
  {
    it: 'is logged in to as a superuser',
    conf: () => rest(as('live_owner')),
    says: [
      'GW650 the role that "dbrest_pass" logs in with is a superuser: neither privileges nor row security apply to it',
    ],
  },
  {
    it: 'is logged in to as a role that bypasses row security',
    conf: () => rest(as('live_backup')),
    says: ['GW650 the role that "dbrest_pass" logs in with bypasses row security'],
  },
  {
    it: 'has a superuser as the anonymous role, which is not granted',
    conf: () => rest(db.dsn, 'dbrest_schemas closed; dbrest_anon_role live_owner;'),
    says: [
      'GW650 the anonymous role is a superuser: neither privileges nor row security apply to it',
      'GW652 the anonymous role may write all rows of closed.books: no row security',
      'GW651 the role that "dbrest_pass" logs in with was not granted "live_owner"',
    ],
  },
  {
    it: 'lacks the anonymous role',
    conf: () => rest(db.dsn, 'dbrest_schemas closed; dbrest_anon_role nobody;'),
    says: ['GW651 the database has no role "nobody"'],
  },
  {
    it: 'lacks a schema',
    conf: () => rest(db.dsn, 'dbrest_schemas "closed, apy"; dbrest_anon_role anon;'),
    says: ['GW653 the database has no schema "apy"'],
  },
  {
    it: 'lacks a table that has a limit',
    conf: () =>
      rest(db.dsn, 'dbrest_schemas closed; dbrest_anon_role anon; dbrest_max_rows 9 books=1 bookz=2;'),
    says: [
      'GW660 "dbrest_max_rows" has a limit for "bookz", which is not a table, view or function of the schemas',
    ],
  },
  {
    it: 'shows whole tables to any client, and embeds without an index',
    conf: () => rest(db.dsn, 'dbrest_schemas api; dbrest_anon_role anon;'),
    says: [
      'GW652 the anonymous role may write all rows of api.orders: no row security',
      'GW652 the anonymous role may read all rows of api.clients: no row security',
      'GW655 embedding along api.orders (client_id) is not supported by an index',
    ],
  },
  {
    it: 'has keys without an index to a table that is not shown, and to one that a view shows',
    conf: () => rest(db.dsn, 'dbrest_schemas shown; dbrest_anon_role anon;'),
    says: ['GW655 embedding along shown.notes (author_id) is not supported by an index'],
  },
  {
    it: 'has views, policies and overloads that do not do what they seem to',
    conf: () => rest(db.dsn, 'dbrest_schemas secured; dbrest_anon_role anon;'),
    says: [
      'GW657 the view secured.all_notes shows "anon" rows of secured.notes regardless of their policies',
      'GW657 the materialized view secured.stored_notes shows "anon" rows of secured.notes regardless of their policies',
      'GW657 the view secured.more_notes shows "anon" rows of secured.notes regardless of their policies',
      'GW658 the policy "mates" of secured.members reads the same table again: each request of "anon" for it fails (42P17)',
      'GW658 the policy "of_others" of secured.members reads the same table again: each request of "web_user" for it fails (42P17)',
      'GW658 the policy "own" of secured.teams reads the same table again: each request of "web_user" for it fails (42P17)',
      'GW659 no request can call secured.find(integer): secured.find(text) accepts the same argument names (PGRST203)',
      'GW659 no request can call secured.seek(integer): secured.seek(integer,text) accepts the same argument names (PGRST203)',
    ],
  },
  {
    it: 'does not have the role that logs in',
    conf: () => rest(as('live_nobody_knows')),
    says: ['GW656 the database cannot be reached: role "live_nobody_knows" does not exist'],
  },
];

for (const { it, conf, says } of databases) {
  test(`a database that ${it}`, async () =>
    expect(
      (await found(conf())).map((text) => text.replace(/ at \S+ (?=cannot be reached)/, ' ')).toSorted(),
    ).toEqual(says.toSorted()));
}

test('an embedded database is asked once for all locations, and runs no longer than that', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'gw-live-'));
  chmodSync(dir, 0o777);
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const dataDir = join(dir, 'pg');
  const server = await startEmbeddedPostgres({ dataDir, log: { write: () => undefined } });
  await server.stop();
  const pass = `embedded:${dataDir}`;
  const conf =
    rest(pass) + rest(pass, 'dbrest_schemas apy; dbrest_anon_role anon;').replace('/api/', '/other/');
  expect((await found(conf)).toSorted()).toEqual([
    'GW651 the database has no role "anon"',
    'GW651 the database has no role "anon"',
    'GW653 the database has no schema "apy"',
    'GW653 the database has no schema "closed"',
  ]);
  expect(existsSync(join(dataDir, 'postmaster.pid'))).toBe(false);
});

test('the name of a syslog server that has no address is reported where it stands', async () => {
  const line = (log: string, host: string): string => `${log} syslog:server=${host};`;
  const logs =
    line('access_log', '127.0.0.1') + line('access_log', 'logs.invalid') + line('error_log', 'localhost');
  expect(await found(logs)).toEqual(['GW913 host not found in syslog server "logs.invalid"']);
  expect(await found(line('error_log', 'logs.invalid'))).toHaveLength(1);
  const own = 'error_log stderr;';
  const limited = `location / { limit_except GET { deny all; ${line('access_log', 'logs.invalid')} } }`;
  expect(await found(limited)).toHaveLength(1);
  expect(await found('', own, line('error_log', 'logs.invalid'))).toHaveLength(1);
  expect(await found(own, line('error_log', 'logs.invalid'))).toHaveLength(1);
  const twice = 'server { listen 127.0.0.1:8081; }';
  expect(await found('', `${line('error_log', 'logs.invalid')} ${twice}`)).toHaveLength(1);
});

test('a database that cannot be reached hides no other, and its password does not show', async () => {
  const port = await freePort();
  const dead = rest(`postgresql://a:s3cret@127.0.0.1:${port}/x`);
  const conf = dead + rest(db.dsn, 'dbrest_schemas apy; dbrest_anon_role anon;').replace('/api/', '/other/');
  const says = await found(conf);
  expect(says).toEqual([
    `GW656 the database at 127.0.0.1:${port} cannot be reached: connection refused`,
    'GW653 the database has no schema "apy"',
  ]);
});

test('the check of a database that accepts connections and stays silent is given up', async () => {
  const port = await silent();
  const conf = rest(`postgresql://a@127.0.0.1:${port}/x?connect_timeout=2`);
  expect(await found(conf)).toEqual([
    `GW656 the database at 127.0.0.1:${port} cannot be reached: no response in time`,
  ]);
});

test('a database that is too old is reported with its version', async () => {
  const { port } = await oldPostgres({ onTestFinished }, facts(110_022));
  expect(await found(rest(`postgresql://a@127.0.0.1:${port}/x`))).toEqual([
    'GW654 the database is PostgreSQL 11, at least 12 is needed',
  ]);
});

test('a database that several locations name is checked once', async () => {
  const { port, connections } = await oldPostgres({ onTestFinished }, facts(150_000));
  const conf = rest(`postgresql://a@127.0.0.1:${port}/x?sslmode=disable`);
  expect(await found(conf + conf.replace('/api/', '/other/'))).toEqual([]);
  expect(connections()).toBe(1);
});

/** A database that is in order, except perhaps for its version. */
function facts(version: number): object {
  const role = { superuser: false, bypassesRowSecurity: false };
  const anon = { ...role, granted: true };
  // It gives the same row to every statement.
  const security = { unsecured: [], recursive: [], overloads: [] };
  return {
    version,
    login: role,
    anon,
    schemas: ['closed'],
    unknown: [],
    open: [],
    unindexed: [],
    ...security,
  };
}

/** The port of a server that accepts connections and stays silent. */
async function silent(): Promise<number> {
  const server = createServer((socket) => socket.on('error', () => undefined));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

const at = (address: string, command = 'get'): string =>
  `location = /k { kv_pass ${address}; kv_key k; kv_command ${command}; kv_connect_timeout 500ms; }`;

test('a store that responds is in order, under the name of an upstream too', async () => {
  const { port, url } = await redis();
  expect(await found(at(`127.0.0.1:${port}`, 'incr'))).toEqual([]);
  expect(await found(at(url))).toEqual([]);
  expect(await found(at('store'), `upstream store { server 127.0.0.1:${port}; }`)).toEqual([]);
});

test('a store that is embedded or named by requests is not checked', async () => {
  expect(await found(at('embedded') + at('$arg_host').replace('/k', '/v'))).toEqual([]);
});

test('a store that does not listen, or stays silent, is reported', async () => {
  const ports = [await freePort(), await silent()] as const;
  const conf = at(`127.0.0.1:${ports[0]}`) + at(`127.0.0.1:${ports[1]}`).replace('/k', '/v');
  expect(await found(conf)).toEqual([
    `GW750 the store at 127.0.0.1:${ports[0]} cannot be reached: connection refused`,
    `GW750 the store at 127.0.0.1:${ports[1]} cannot be reached: no response in time`,
  ]);
});

test('a store that requires a password, or a different one, is reported', async () => {
  const { port } = await redis('--requirepass', 'right');
  const conf = at(`127.0.0.1:${port}`) + at(`redis://:wr0ng@127.0.0.1:${port}`).replace('/k', '/v');
  expect(await found(conf)).toEqual([
    'GW751 the store refuses the login: it wants a password',
    'GW751 the store refuses the login: wrong password',
  ]);
  expect(await found(at(`redis://:right@127.0.0.1:${port}`))).toEqual([]);
});

test('a store that is a replica accepts only reads', async () => {
  const { port: master } = await redis();
  const { port } = await redis('--replicaof', `127.0.0.1 ${master}`);
  expect(await found(at(`127.0.0.1:${port}`))).toEqual([]);
  expect(await found(at(`127.0.0.1:${port}`, 'incr'))).toEqual([
    'GW752 the store is a read-only replica, and "kv_command incr" writes',
  ]);
});

const clusterAt = (address: string, namespace = freshNamespace()): string =>
  `cluster main { backend ${address}; secret "0123456789abcdef"; namespace ${namespace}; }`;

test('the store of a cluster is in order, cannot be used, or removes keys', async () => {
  const [{ url }, evicting] = [await redis(), await redis('--maxmemory-policy', 'allkeys-lru')];
  expect(await found('', clusterAt(url))).toEqual([]);
  expect(await found('', clusterAt(evicting.url))).toEqual([
    'GW961 the store has "maxmemory-policy allkeys-lru"',
  ]);
  const nowhere = clusterAt(`redis://gw:s3cret@127.0.0.1:${await freePort()}`);
  expect(await found('', nowhere)).toEqual([
    expect.stringMatching(/^GW960 the store cannot be used: connect ECONNREFUSED [\d.:]+$/),
  ]);
});

test('the nodes of a cluster say what differs, and may be too many', async () => {
  const { url, client } = await redis();
  const namespace = freshNamespace();
  const [a, b] = [startLightNode('gw-a', { url, namespace }), startLightNode('gw-b', { url, namespace })];
  a.node.declare('li:perip', 'rate=1');
  b.node.declare('li:perip', 'rate=2');
  await expect.poll(() => [a, b].map(({ node }) => node.status.conflicts.length)).toEqual([1, 1]);
  const differs = expect.stringMatching(
    /^GW962 node "gw-[ab]" has other parameters for "limit perip" than other nodes$/,
  ) as string;
  expect(await found('', clusterAt(url, namespace))).toEqual([differs]);
  const many = Array.from({ length: 999 }, (_, nth) => [Date.now() + 60_000, `n${nth}`]).flat();
  await client.zadd(`gw:{${namespace}:nodes}`, ...many);
  expect((await found('', clusterAt(url, namespace))).toSorted()).toEqual([
    differs,
    'GW963 1001 nodes share the store, more than the 1000 that it was tested with',
  ]);
});

const labels = [
  { label: '127.0.0.1:6379', most: 1_000 },
  { label: 'sentinel://hosts:26379/main', most: 1_000 },
  { label: 'postgres://db.internal/gw', most: 50 },
  { label: 'postgresql://db.internal', most: 50 },
  { label: 'host=db.internal dbname=gw', most: 50 },
];
for (const { label, most } of labels)
  test(`the store ${label} is for ${most} nodes`, () => expect(mostNodes(label)).toBe(most));

test('without --live nothing is opened', async () => {
  const text = `http { server { listen 127.0.0.1:8080; ${rest(as('live_nobody_knows'))} } }`;
  const findings = await check(load({ confFile: '/gw.conf', name: 'gw.conf', prefix: '/', text }));
  expect(findings).toEqual([]);
});

test('a live finding is ignored by a comment, which without --live does not count as unused', async () => {
  const conf = `\n# gw-ignore GW653: it comes with the next migration\n`;
  const server = rest(db.dsn, `${conf}dbrest_schemas apy; dbrest_anon_role anon;`);
  expect(await found(server)).toEqual([]);
  const text = `http { server { listen 127.0.0.1:8080; ${server} } }`;
  expect(await check(load({ confFile: '/gw.conf', name: 'gw.conf', prefix: '/', text }))).toEqual([]);
});

test('an OpenID Provider that is away is found', async () => {
  const login = 'location / { auth_oidc idp; }';
  const [finding] = await found(login, 'oidc_provider idp { issuer http://127.0.0.1:1; client_id gw; }');
  expect(finding).toMatch(/^GW983 nobody can log in at "idp": .*ECONNREFUSED/);
});

test('an ACME authority that is away is found', async () => {
  const issuer =
    'acme_issuer le { uri http://127.0.0.1:1/directory; state_path off; accept_terms_of_service; }';
  const [finding] = await found('location / { return 204; }', issuer);
  expect(finding).toMatch(/^GW527 nothing can be ordered from issuer "le": .*ECONNREFUSED/);
});

test('an ACME authority whose certificate is not verified is asked too', async () => {
  const issuer =
    'acme_issuer le { uri https://127.0.0.1:1/directory; state_path off; ssl_verify off; accept_terms_of_service; }';
  const [finding] = await found('location / { return 204; }', issuer);
  expect(finding).toMatch(/^GW527 nothing can be ordered from issuer "le": .*ECONNREFUSED/);
});

test('each ACME authority that is away is found at its own issuer', async () => {
  const away = (name: string): string =>
    `acme_issuer ${name} { uri http://127.0.0.1:1/${name}; state_path off; accept_terms_of_service; }`;
  const text = `http {\n${away('first')}\n${away('second')}\nserver { listen 127.0.0.1:8080; return 204; } }`;
  const findings = await check(load({ confFile: '/gw.conf', name: 'gw.conf', prefix: '/', text }), {
    live: true,
  });
  const lines = findings.flatMap(({ rule, span }) =>
    rule === 'GW527' && span ? text.slice(0, span.start).split('\n').length : [],
  );
  expect(lines).toEqual([2, 3]);
});

const TRACED = 'location /a { otel_trace on; } location /b { otel_trace off; }';

for (const { it, reply, says } of [
  { it: 'takes records', reply: {}, says: [] },
  {
    it: 'wants credentials',
    reply: { status: 401 },
    says: ['does not take records: the collector responded with status 401'],
  },
  { it: 'is silent', reply: { status: 'hang' as const }, says: ['does not take records: the check ended'] },
]) {
  test(`a collector that ${it} is told of once, whatever locations trace`, async (t) => {
    const collector = await startCollector(t);
    collector.reply = () => reply;
    const at = `127.0.0.1:${collector.port}`;
    expect(await found(TRACED, `otel_exporter { endpoint ${at}; protocol http/json; }`)).toEqual(
      says.map((text) => `GW933 the collector at ${at} ${text}`),
    );
    expect(collector.spans()).toEqual([]);
  });
}

test('a collector that is away is told of', async () => {
  const at = `127.0.0.1:${await freePort()}`;
  expect(await found(TRACED, `otel_exporter { endpoint ${at}; }`)).toEqual([
    expect.stringMatching(`^GW933 the collector at ${at} does not take records: .*refused`),
  ]);
});

test('every live rule has a case here', () => {
  expect(met).toEqual(LIVE);
});
