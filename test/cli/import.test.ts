import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { freePort } from '../harness/ports.ts';
import { startGateway } from '../harness/gateway.ts';
import { postgres } from '../harness/postgres.ts';
import { redis } from '../harness/redis.ts';
import { directoryWith, gwWith } from './command.ts';
import { firstAsProgram } from './in-process.ts';

const gw = firstAsProgram();

const GOLDENS = join(import.meta.dirname, 'imports');
const MARK = '---\n';
/** None of these may show in what is printed. */
const SECRETS = /top ?secret|top%20secret|a;secret|me@shop|:pw\b/;

/** The values of the variables that an imported configuration refers to. */
function environmentOf(stderr: string): Record<string, string> {
  const named = [...stderr.matchAll(/^gw: (\w+) must be set: /gm)].map(([, name = '']) => name);
  const values: Record<string, string> = { REDIS_HOST: '127.0.0.1', REDIS_PORT: '6379' };
  for (const name of named) values[name] = 'gDkHXfeAP7l1xoFasmOnIE1cTgVMjmsFoO63cDjYblo';
  for (const name of ['DATABASE_URL', 'PGRST_DB_URI'])
    if (name in values) values[name] = 'postgres://db/shop';
  return values;
}

for (const file of readdirSync(GOLDENS)) {
  test(`gw import of ${file} has the recorded output, which is formatted and loads`, async (t) => {
    const golden = readFileSync(join(GOLDENS, file), 'utf8');
    const [source, expected] = [
      golden.slice(0, golden.indexOf(MARK)),
      golden.slice(golden.indexOf(MARK) + 4),
    ];
    const dir = directoryWith(t, { source });
    const said = await gw(dir, ['import', 'source']);
    if (process.env['RECORD'] !== undefined) writeFileSync(join(GOLDENS, file), source + MARK + said.stdout);
    else expect(said.stdout).toBe(expected);
    expect(said.code).toBe(0);
    expect(said.stdout + said.stderr).not.toMatch(SECRETS);
    writeFileSync(join(dir, 'gateway.conf'), said.stdout.replace('/run/secrets/', ''));
    writeFileSync(join(dir, 'db-uri'), 'postgres://db/shop\n');
    expect(await gw(dir, ['fmt', '--check', 'gateway.conf'])).toMatchObject({ code: 0 });
    expect(await gw(dir, ['-tq'], environmentOf(said.stderr))).toMatchObject({ code: 0 });
  });

  test(`gw import --inline-secrets of ${file} loads without its environment`, async (t) => {
    const golden = readFileSync(join(GOLDENS, file), 'utf8');
    const dir = directoryWith(t, {
      source: golden.slice(0, golden.indexOf(MARK)),
      'db-uri': 'postgres://db/shop\n',
    });
    const said = await gw(dir, ['import', '--inline-secrets', 'source']);
    writeFileSync(join(dir, 'gateway.conf'), said.stdout.replace('/run/secrets/', ''));
    expect(await gw(dir, ['-tq'], environmentOf(said.stderr))).toMatchObject({ code: 0 });
  });
}

test('gw import of nginz leaves what gw does not have, so that nothing is served without it', async (t) => {
  const source =
    'http { server {\n  listen 80; redis_pass h;\n  waf on;\n  location / { jsonschema a; return 200; }\n} }\n';
  const dir = directoryWith(t, { source });
  const { code, stdout, stderr } = await gw(dir, ['import', '--from', 'nginz', 'source']);
  expect([code, stderr]).toEqual([0, 'gw: left as they are, and refused by gw: waf, jsonschema\n']);
  writeFileSync(join(dir, 'gateway.conf'), stdout);
  expect(await gw(dir, ['-tq'])).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /"waf" directive is not supported[^]*"jsonschema" directive is not supported/,
    ) as string,
  });
});

const refused: readonly { it: string; args: readonly string[]; code: number; stderr: RegExp }[] = [
  {
    it: 'of another account',
    args: ['other'],
    code: 2,
    stderr: /^gw: "other" is no configuration of PostgREST, Webdis or nginz\n/,
  },
  { it: 'that is not there', args: ['missing'], code: 1, stderr: /^gw: open\(\) "missing" failed / },
  {
    it: 'that is not JSON',
    args: ['--from', 'webdis', 'other'],
    code: 1,
    stderr: /^gw: "other" is not a JSON object\n$/,
  },
  {
    it: 'with a line that is broken in the middle of a secret',
    args: ['broken'],
    code: 1,
    stderr: /^gw: "broken" has an invalid setting in line 2\n$/,
  },
  {
    it: 'with a variable that is broken',
    args: ['variables'],
    code: 1,
    stderr: /^gw: "variables" has an invalid setting in line 2\n$/,
  },
  {
    it: 'with a quote that does not end in its line',
    args: ['unclosed'],
    code: 1,
    stderr: /^gw: "unclosed" has an invalid setting in line 2\n$/,
  },
  {
    it: 'with a value in the next line',
    args: ['next'],
    code: 1,
    stderr: /^gw: "next" has an invalid setting in line 2\n$/,
  },
  {
    it: 'of an unknown program',
    args: ['--from', 'kong', 'other'],
    code: 2,
    stderr: /expected postgrest, webdis, nginz\n$/,
  },
];

/** Lines of settings whose values are elsewhere, or not whole. */
const elsewhere: readonly string[] = [
  'PGRST_DB_PRE_REQUEST: >-\n    check',
  'PGRST_DB_PRE_REQUEST: >\n    check',
  'PGRST_DB_PRE_REQUEST: |\n    check',
  '"PGRST_DB_PRE_REQUEST": |-  # why\n    check',
  'PGRST_DB_MAX_ROWS:\n    100',
  'PGRST_DB_MAX_ROWS: # why\n    100',
  'PGRST_DB_MAX_ROWS: *rows',
  'PGRST_DB_MAX_ROWS: &rows 100',
  'PGRST_DB_SCHEMAS: api,\n    private',
  '- PGRST_DB_SCHEMAS=api,\n    private',
  '- "PGRST_DB_PRE_REQUEST=check',
  'export PGRST_DB_PRE_REQUEST="check',
  "PGRST_DB_PRE_REQUEST='check",
  "PGRST_DB_PRE_REQUEST='check''it'",
  'PGRST_DB_SCHEMAS=api,\\\nprivate',
  'export PGRST_DB_POOL=1 PGRST_DB_MAX_ROWS=2',
  'export PGRST_DB_POOL="1" PGRST_DB_MAX_ROWS=2',
];

const runElsewhere = firstAsProgram();
for (const setting of elsewhere) {
  test(`gw import refuses ${JSON.stringify(setting)}, whose value does not stand in its line`, async (t) => {
    const source = `image: postgrest\nenvironment:\n  PGRST_DB_URI: postgres://h/d # it\n  ${setting}\n`;
    const said = await runElsewhere(directoryWith(t, { source }), ['import', 'source']);
    const stderr = 'gw: "source" has an invalid setting in line 4\n';
    expect(said).toEqual({ code: 1, stdout: '', stderr });
  });
}

const runRefused = firstAsProgram();
for (const { it, args, code, stderr } of refused) {
  test(`gw import of a file ${it} ends with ${code}`, async (t) => {
    const dir = directoryWith(t, {
      other: 'listen 80;\n',
      broken: 'db-uri = "postgres://h/d"\njwt-secret "top secret\n',
      unclosed: 'db-uri = "postgres://h/d"\njwt-secret = "top secret\n',
      next: 'db-uri = "postgres://h/d"\ndb-max-rows =\n  100\n',
      variables: 'PGRST_DB_URI: postgres://h/d\n- PGRST_JWT_SECRET "top secret\n',
    });
    const said = await runRefused(dir, ['import', ...args]);
    expect(said).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(stderr) as string });
  });
}

const strange: readonly { it: string; source: string; says: RegExp; refused?: RegExp }[] = [
  {
    it: 'names of the language it is written in',
    source: 'db-uri = "postgres://h/d"\nconstructor = 1\ntoString = 2\n',
    says: /^gw: not carried over, as the comments say: constructor, toString\n$/,
  },
  {
    it: 'lines of something else around a list of variables',
    source: 'image: postgrest/postgrest\nPGRST_DB_URI: postgres://h/d\nPGRST_DB_ANON_ROLE: anon\n',
    says: /^gw: not carried over, as the comments say: line 1\ngw: PGRST_DB_URI must be set: db-uri\n$/,
  },
  {
    it: 'invalid access rules',
    source:
      '{"http_port": 1, "acl": [null, 5, {"enabled": "GET", "disabled": [null]}], "ssl": null, "toString": {}}',
    says: /^gw: not carried over, as the comments say: toString\n$/,
  },
  {
    it: 'values that gw does not accept, which stay',
    source:
      'db-uri = "host=h port=x"\ndb-pool = "many"\nserver-port = 99999\nlog-level = "loud"\ndb-tx-end = "never"\n',
    says: /refused by gw: error_log, listen, dbrest_pass, dbrest_tx_end, dbrest_pool_size\n$/,
    refused: /"never"[^]*"dbrest_pool_size"/,
  },
  {
    it: 'limits and checks that gw does not accept, which stay',
    source:
      'db-uri = "postgres://h/d"\ndb-max-rows = "ten"\ndb-pre-request = "check \\"it\\""\ndb-aggregates-enabled = "maybe"\ndb-pre-config = "api.conf"\n',
    says: /refused by gw: dbrest_max_rows, dbrest_pre_request, dbrest_aggregates, dbrest_pre_config\n$/,
    refused: /"dbrest_max_rows"[^]*"dbrest_pre_request"[^]*"dbrest_aggregates"[^]*"dbrest_pre_config"/,
  },
  {
    it: 'a denied network that is none, which stays',
    source:
      '{"http_port": 1, "http_max_request_size": "x", "acl": [{"ip": "10.0.0.0/33", "disabled": ["DEL"]}]}',
    says: /refused by gw: client_max_body_size, kv_max_value_size, deny\n$/,
    refused: /invalid parameter "10.0.0.0\/33"/,
  },
];

const runStrange = firstAsProgram();
for (const { it, source, says, refused: faults } of strange) {
  test(`gw import goes on with ${it}`, async (t) => {
    const dir = directoryWith(t, { source });
    const said = await runStrange(dir, ['import', 'source']);
    expect(said).toMatchObject({ code: 0, stderr: expect.stringMatching(says) as string });
    expect(said.stdout).not.toMatch(SECRETS);
    writeFileSync(join(dir, 'gateway.conf'), said.stdout);
    const loaded = await runStrange(dir, ['-tq'], { PGRST_DB_URI: 'postgres://h/d' });
    expect(loaded).toMatchObject({
      code: faults ? 1 : 0,
      stderr: expect.stringMatching(faults ?? '') as string,
    });
  });
}

/** The content of `http`, for a gateway on another port. */
function insideHttp(conf: string, port: number, own: number): string {
  const [, inside = ''] = /^http \{\n([^]*)^\}\n/m.exec(conf) ?? [];
  return inside.replace(new RegExp(`listen .*:?${own};`), `listen 127.0.0.1:${port};`);
}

test('a gateway with an imported PostgREST configuration serves the same API', async (t) => {
  const database = await postgres(`
    create schema api; create table api.todos (id int primary key, task text);
    insert into api.todos values (1, 'try'); grant usage on schema api to anon, web_user; grant select on api.todos to anon;
    grant select, insert on api.todos to web_user;`);
  const secret = 'a-secret-of-more-than-thirty-two-bytes';
  const base64 = Buffer.from(secret).toString('base64');
  const source = `db-uri = "${database.dsn}"\ndb-schemas = "api"\ndb-anon-role = "anon"
jwt-secret = "${base64}"\njwt-secret-is-base64 = true\nserver-port = 3999\n`;
  const { stdout } = await gwWith('/tmp', ['import', '-'], source);
  const port = await freePort();
  const gateway = await startGateway(t, insideHttp(stdout, port, 3999), {
    port,
    env: { JWT_SECRET: base64 },
  });
  await gateway.expect('GET /todos', { status: 200, body: '[{"id":1,"task":"try"}]' });
  const headers = { 'content-type': 'application/json' };
  await gateway.expect('POST /todos', { status: 401 }, { headers, body: '{"id":2}' });
  const { stdout: token } = await gw('/tmp', ['jwt', 'sign', '--role', 'web_user'], {
    GW_JWT_SECRET: secret,
  });
  const authorization = `Bearer ${token.trim()}`;
  await gateway.expect(
    'POST /todos',
    { status: 201 },
    { headers: { ...headers, authorization }, body: '{"id":2}' },
  );
  await gateway.expect('GET /todos', { status: 401 }, { headers: { authorization: `${authorization}x` } });
  await gateway.expect('GET /todos?select=count()', { status: 400 });
});

test('a gateway with an imported Webdis configuration runs its commands', async (t) => {
  const store = await redis('--requirepass', 'p@ss/word');
  const source = JSON.stringify({
    redis_host: store.host,
    redis_port: store.port,
    redis_auth: 'p@ss/word',
    database: 3,
    http_port: 7399,
    acl: [{ disabled: ['DEL'] }],
  });
  const { stdout } = await gwWith('/tmp', ['import', '-'], source);
  const port = await freePort();
  const env = { REDIS_PASSWORD: encodeURIComponent('p@ss/word') };
  const gateway = await startGateway(t, insideHttp(stdout, port, 7399), { port, env });
  await gateway.expect('GET /PING', { json: { ok: true } });
  await gateway.expect('POST /SET/a%2Fb', { json: { ok: true } }, { body: 'x y' });
  await gateway.expect('GET /get/a%2Fb', { json: { value: 'x y' } });
  await gateway.expect('POST /INCR/n', { json: { value: 1 } });
  await gateway.expect('POST /HSET/h/a%26b%20c', { json: { value: 1 } }, { body: 'v' });
  await gateway.expect('GET /HGET/h/a%26b%20c', { json: { value: 'v' } });
  await gateway.expect('GET /MGET?keys=n,none', { json: { values: ['1', null] } });
  await gateway.expect('POST /DEL/n', { status: 404 });
  const client = new Redis({ host: store.host, port: store.port, password: 'p@ss/word', db: 3 });
  t.onTestFinished(() => client.disconnect());
  expect(await client.hgetall('h')).toEqual({ 'a&b c': 'v' });
});
