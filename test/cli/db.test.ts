import { createHash, createHmac, randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import pg from 'pg';
import { expect, test } from 'vitest';
import { type dbrestTools, loadDbrestTools } from '../../src/tools/lookups.ts';
import { startGateway } from '../harness/gateway.ts';
import type { Owner } from '../harness/owner.ts';
import { postgres, type TestDatabase } from '../harness/postgres.ts';
import { directoryWith } from './command.ts';
import { firstAsProgram } from './in-process.ts';

const gw = firstAsProgram();
const HERE = tmpdir();

interface Names {
  readonly authenticator: string;
  readonly anon: string;
  readonly user: string;
}

/** A database, and names of roles that are unique in the cluster; the end of the test removes them. */
async function emptyDatabase(
  t: Owner,
): Promise<{ database: TestDatabase; names: Names; args: readonly string[] }> {
  const database = await postgres();
  const mark = randomUUID().slice(0, 8);
  const names = { authenticator: `login_${mark}`, anon: `anon '"\\${mark}`, user: `user_${mark}` };
  const args = Object.entries(names).flatMap(([option, name]) => [`--${option}`, name]);
  t.onTestFinished(async () => {
    for (const name of Object.values(names)) {
      const quoted = `"${name.replaceAll('"', '""')}"`;
      const [role] = await database.query('select from pg_roles where rolname = $1', [name]);
      if (role) await database.query(`drop owned by ${quoted} cascade; drop role ${quoted}`);
    }
  });
  return { database, names, args };
}

type Item = dbrestTools.SetupItem & { readonly changed?: boolean };

async function itemsOf(args: readonly string[], code: number): Promise<readonly Item[]> {
  const said = await gw(HERE, ['db', ...args, '--json']);
  expect(said).toMatchObject({ code, stderr: '' });
  return JSON.parse(said.stdout) as Item[];
}

test('gw db setup --apply makes what gw db status reports as missing, and running it twice changes nothing', async (t) => {
  const { database, names, args } = await emptyDatabase(t);
  const all = ['--dsn', database.adminDsn, ...args];
  const before = await itemsOf(['status', ...all], 1);
  expect(before.map(({ state }) => state)).toEqual(['ok', ...Array<string>(9).fill('missing')]);
  const first = await itemsOf(['setup', '--apply', ...all], 0);
  expect(first.map(({ state, changed }) => [state, changed])).toEqual([
    ['ok', false],
    ...Array<unknown>(9).fill(['ok', true]),
  ]);
  const second = await itemsOf(['setup', '--apply', ...all], 0);
  expect(second.map(({ state, changed }) => [state, changed])).toEqual(
    Array<unknown>(10).fill(['ok', false]),
  );
  const { stdout } = await gw(HERE, ['db', 'status', ...all]);
  expect(stdout.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
    ['ok', 'server', expect.stringMatching(/^PostgreSQL \d+/) as string],
    ['ok', `role "${names.authenticator}"`],
    ['ok', `role "${names.anon}"`],
    ['ok', `role "${names.user}"`],
    ['ok', `"${names.authenticator}" may become "${names.anon}"`],
    ['ok', `"${names.authenticator}" may become "${names.user}"`],
    ['ok', 'schema "api"'],
    ['ok', `"${names.anon}" may use schema "api"`],
    ['ok', `"${names.user}" may use schema "api"`],
    ['ok', 'event trigger that announces changes', 'gw_schema_changed, gw_schema_dropped'],
    [''],
  ]);
});

test('gw db setup --cache lets all tables of the schema announce their writes', async (t) => {
  const { database, args } = await emptyDatabase(t);
  const all = ['--dsn', database.adminDsn, ...args];
  await database.query(
    `create schema api; create table api.a (id int); create table api."B's" (id int) partition by list (id)`,
  );
  const lastOf = async (command: readonly string[], code: number): Promise<unknown> =>
    (await itemsOf([...command, ...all], code)).at(-1);
  const what = 'tables that announce writes to caches';
  expect(await lastOf(['setup', '--apply', '--cache'], 0)).toMatchObject({
    what,
    state: 'ok',
    detail: '2 of 2',
  });
  await database.query('create table api.c (id int)');
  expect(await lastOf(['status'], 1)).toMatchObject({ what, state: 'missing', detail: '2 of 3' });
  expect(await lastOf(['setup', '--apply', '--cache'], 0)).toMatchObject({
    what,
    state: 'ok',
    detail: '3 of 3',
  });

  const client = new pg.Client(database.adminDsn);
  await client.connect();
  t.onTestFinished(() => client.end());
  const heard: unknown[] = [];
  client.on('notification', ({ channel, payload }) => heard.push(`${channel} ${payload}`));
  await client.query(`listen gw_cache`);
  for (const sql of ['insert into api.a values (1)', 'update api.c set id = 1', `truncate api."B's"`])
    await client.query(sql);
  await client.query('begin; insert into api.a values (2); rollback');
  await client.query('select');
  expect(heard).toEqual(['gw_cache api.a', 'gw_cache api.c', `gw_cache api.B's`]);
});

test('psql can run the script of gw db setup, also twice', async (t) => {
  const { database, args } = await emptyDatabase(t);
  const printed = await gw(HERE, ['db', 'setup', ...args]);
  expect(printed).toMatchObject({ code: 0, stderr: '' });
  for (let n = 0; n < 2; n++) await database.query(printed.stdout);
  await itemsOf(['status', '--dsn', database.adminDsn, ...args], 0);
});

test('a location logs in as the new role, and sees at once that a table is made, changed and dropped', async (t) => {
  const { database, names, args } = await emptyDatabase(t);
  await itemsOf(['setup', '--apply', '--grant-tables', '--dsn', database.adminDsn, ...args], 0);
  const dsn = database.adminDsn.replace('//postgres@', `//${names.authenticator}@`);
  const secret = 'a-secret-of-more-than-thirty-two-bytes';
  const gateway = await startGateway(
    t,
    `server { location / {
      dbrest_pass ${dsn}; dbrest_schemas api; dbrest_jwt_secret ${secret};
      dbrest_anon_role "${names.anon.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"; } }`,
    { main: 'error_log error.log info;' },
  );
  await gateway.expect('GET /todos', { status: 404 });
  const read = /is read again, as it requested/;
  const change = async (sql: string): Promise<void> => {
    const heard = gateway.waitForLog(read);
    await database.query(sql);
    await heard;
  };
  await change('create table api.todos (id int primary key, task text)');
  await gateway.expect('GET /todos', { status: 200, body: '[]' });
  const { stdout: token } = await gw(HERE, ['jwt', 'sign', '--role', names.user], { GW_JWT_SECRET: secret });
  const post = (headers: Record<string, string>) => ({
    headers: { 'content-type': 'application/json', ...headers },
    body: '{"id":1,"task":"try"}',
  });
  await gateway.expect('POST /todos', { status: 401 }, post({}));
  await gateway.expect('POST /todos', { status: 201 }, post({ authorization: `Bearer ${token.trim()}` }));
  await change('alter table api.todos rename task to job');
  await gateway.expect('GET /todos', { status: 200, body: '[{"id":1,"job":"try"}]' });
  await change('drop table api.todos');
  await gateway.expect('GET /todos', { status: 404 });
});

test('a temporary table announces nothing', async (t) => {
  const { database, args } = await emptyDatabase(t);
  await itemsOf(['setup', '--apply', '--dsn', database.adminDsn, ...args], 0);
  const client = new pg.Client({ connectionString: database.adminDsn });
  await client.connect();
  t.onTestFinished(() => client.end());
  const heard: string[] = [];
  client.on('notification', ({ payload = '' }) => heard.push(payload));
  await client.query('listen pgrst');
  await client.query('create temporary table gone (id int)');
  await client.query('drop table gone');
  await client.query('create table stays (id int)');
  await client.query(`notify pgrst, 'end'`);
  expect(heard).toEqual(['reload schema', 'end']);
});

test('gw db status takes database, roles and schemas from a location', async (t) => {
  const { database, names, args } = await emptyDatabase(t);
  await itemsOf(['setup', '--apply', '--dsn', database.adminDsn, ...args], 0);
  await database.query('create schema more');
  const conf = `http { server { location /api/ { dbrest_pass "${database.adminDsn}"; dbrest_schemas "api, more";
    dbrest_anon_role "${names.anon.replace(/["\\]/g, '\\$&')}"; } } }`;
  const dir = directoryWith(t, { 'gw.conf': conf });
  const items = await itemsOf(['status', '-c', `${dir}/gw.conf`, '--authenticator', names.authenticator], 1);
  const role = names.anon;
  expect(items.map(({ what, state }) => [what, state]).slice(1)).toEqual([
    [`role "${names.authenticator}"`, 'ok'],
    [`role "${role}"`, 'ok'],
    [`"${names.authenticator}" may become "${role}"`, 'ok'],
    ['schema "api"', 'ok'],
    [`"${role}" may use schema "api"`, 'ok'],
    ['event trigger that announces changes', 'ok'],
    ['schema "more"', 'ok'],
    [`"${role}" may use schema "more"`, 'missing'],
  ]);
  const [, login] = await itemsOf(['status', '-c', `${dir}/gw.conf`], 1);
  expect(login).toMatchObject({ what: 'role "postgres"', state: 'wrong' });
});

test('gw db setup takes roles and schema from a location', async (t) => {
  const { database, names, args } = await emptyDatabase(t);
  const login = `postgres://${names.authenticator}@127.0.0.1/app`;
  const conf = `http { server { location /api/ { dbrest_pass ${login}; dbrest_schemas "shop, more";
    dbrest_anon_role "${names.anon.replace(/["\\]/g, '\\$&')}"; } } }`;
  const dir = directoryWith(t, { 'gw.conf': conf });
  const taken = ['db', 'setup', '-c', `${dir}/gw.conf`, '--user', names.user];
  const named = ['db', 'setup', ...args, '--schema', 'shop'];
  const printed = await gw(HERE, taken);
  expect(printed).toMatchObject({
    code: 0,
    stderr: 'gw: only the first schema of the location is set up; for the others: --schema more\n',
  });
  expect(printed.stdout).toBe((await gw(HERE, named)).stdout);
  const more = await gw(HERE, [...taken, '--schema', 'more', '--apply', '--dsn', database.adminDsn]);
  expect(more).toMatchObject({ code: 0, stderr: '' });
  expect(more.stdout).toContain('schema "more"');
  expect(await gw(HERE, [...taken, '--cluster'])).toMatchObject({ code: 2 });
});

test('gw db status names what is wrong with a role and with the trigger', async (t) => {
  const { database, names, args } = await emptyDatabase(t);
  const all = ['--dsn', database.adminDsn, ...args];
  await itemsOf(['setup', '--apply', ...all], 0);
  await database.query(
    `alter role ${names.authenticator} inherit; alter role ${names.user} bypassrls;
     alter event trigger gw_schema_changed disable; alter event trigger gw_schema_dropped disable`,
  );
  const wrong = (await itemsOf(['status', ...all], 1)).filter(({ state }) => state !== 'ok');
  expect(wrong).toEqual([
    {
      what: `role "${names.authenticator}"`,
      state: 'wrong',
      detail: 'inherits, so that it has the rights of all the other roles',
    },
    { what: `role "${names.user}"`, state: 'wrong', detail: 'bypasses row security' },
    { what: 'event trigger that announces changes', state: 'wrong', detail: 'it is disabled' },
  ]);
  const mended = await itemsOf(['setup', '--apply', ...all], 1);
  expect(mended.find(({ what }) => what.includes(names.authenticator))).toMatchObject({
    state: 'ok',
    changed: true,
  });
});

test('setup by a role that is not a superuser leaves out the trigger, and changes nothing where it has no right', async (t) => {
  const { database, args } = await emptyDatabase(t);
  const owner = `owner_${randomUUID().slice(0, 8)}`;
  await database.query(
    `create role ${owner} login createrole; grant create on database ${database.database} to ${owner}`,
  );
  t.onTestFinished(() =>
    database.query(`drop owned by ${owner} cascade; drop role ${owner}`).then(() => undefined),
  );
  const all = ['--dsn', database.adminDsn.replace('//postgres@', `//${owner}@`), ...args];
  const refused = await gw(HERE, ['db', 'setup', '--apply', ...all]);
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toMatch(
    /^gw: nothing was changed: permission denied to create event trigger .*; --no-trigger omits it \(.*\)\n$/,
  );
  expect((await itemsOf(['status', ...all], 1)).filter(({ state }) => state === 'ok')).toHaveLength(1);
  const done = await itemsOf(['setup', '--apply', '--no-trigger', ...all], 0);
  expect(done.filter(({ state }) => state !== 'ok').map(({ what }) => what)).toEqual([
    'event trigger that announces changes',
  ]);
});

test('gw db setup --password-file stores a password that PostgreSQL accepts, and never shows it', async (t) => {
  const { database, names, args } = await emptyDatabase(t);
  const dir = directoryWith(t, { 'pw.txt': 'top secret\n' });
  const command = ['db', 'setup', '--password-file', 'pw.txt', ...args];
  const printed = await gw(dir, command);
  const applied = await gw(dir, [...command, '--apply', '--dsn', database.adminDsn]);
  expect(applied.code).toBe(0);
  expect(printed.stdout + applied.stdout + applied.stderr).not.toContain('top secret');
  const [stored] = await database.query<{ rolpassword: string }>(
    'select rolpassword from pg_authid where rolname = $1',
    [names.authenticator],
  );
  expect(stored?.rolpassword).toMatch(/^SCRAM-SHA-256\$4096:[\w+/=]{24}\$[\w+/=]{44}:[\w+/=]{44}$/);
});

test('the stored form of a password agrees with the example of RFC 7677', async () => {
  const salt = 'W22ZaJ0SNY7soEsUEjb6gQ==';
  const nonce = 'rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0';
  const said = `n=user,r=rOprNGfwEbeRWgbNEkqO,r=${nonce},s=${salt},i=4096,c=biws,r=${nonce}`;
  const { scramVerifier } = await loadDbrestTools();
  const verifier = await scramVerifier('pencil', Buffer.from(salt, 'base64'));
  const [, storedKey, serverKey] =
    /\$([^$:]+):([^$:]+)$/.exec(verifier)?.map((key) => Buffer.from(key, 'base64')) ?? [];
  const sign = (key = Buffer.alloc(0)) => createHmac('sha256', key).update(said).digest();
  expect(sign(serverKey).toString('base64')).toBe('6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=');
  const proof = Buffer.from('dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=', 'base64');
  const signature = sign(storedKey);
  const clientKey = proof.map((byte, at) => byte ^ (signature[at] ?? 0));
  expect(createHash('sha256').update(clientKey).digest()).toEqual(storedKey);
});

const wrong: readonly { args: readonly string[]; code: number; stderr: RegExp | string }[] = [
  {
    args: ['setup', '--apply'],
    code: 2,
    stderr: 'gw: no database is named; set DATABASE_URL, or use --dsn\n',
  },
  {
    args: ['setup', '--anon', 'pg_read_all_data'],
    code: 2,
    stderr: 'gw: invalid --anon "pg_read_all_data"\n  PostgreSQL reserves this name\n',
  },
  {
    args: ['setup', '--anon', 'web_user'],
    code: 2,
    stderr: 'gw: the three roles must have different names\n',
  },
  {
    args: ['status', '--dsn', 'postgres://u:topsecret@h:x/db'],
    code: 1,
    stderr: /^gw: malformed connection string(?!.*topsecret)/,
  },
  {
    args: ['status', '--dsn', 'postgres://u:topsecret@127.0.0.1:1/db'],
    code: 1,
    stderr: /^gw: cannot connect to "127\.0\.0\.1:1\/db": .*ECONNREFUSED/,
  },
];

const runWrong = firstAsProgram();
for (const { args, code, stderr } of wrong) {
  test(`gw db ${args.join(' ')} ends with ${code}`, async () => {
    const said = await runWrong(HERE, ['db', ...args], { DATABASE_URL: undefined });
    expect(said).toMatchObject({ code, stdout: '' });
    if (typeof stderr === 'string') expect(said.stderr).toBe(stderr);
    else expect(said.stderr).toMatch(stderr);
  });
}
