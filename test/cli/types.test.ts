import { readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { format } from 'prettier';
import { beforeAll, expect, test } from 'vitest';
import { type Gateway, GW, startGateway } from '../harness/gateway.ts';
import { launch, type Launched } from '../harness/launch.ts';
import { type Owner, wholeFile } from '../harness/owner.ts';
import { freePort } from '../harness/ports.ts';
import { postgres, type TestDatabase } from '../harness/postgres.ts';
import { SECRET, sign } from '../harness/tokens.ts';
import { TYPED } from '../modules/dbrest/types/fixture.ts';
import { directoryWith, runIn } from './command.ts';
import { firstAsProgram } from './in-process.ts';

const gw = firstAsProgram();
const ROOT = resolve(import.meta.dirname, '../..');
const TYPES = join(ROOT, 'test/modules/dbrest/types');
const GOLDEN = join(TYPES, 'database.golden.ts');
const golden = (): string => readFileSync(GOLDEN, 'utf8');

const location = (dsn: string, more = ''): string =>
  `location /rest/v1/ { dbrest_pass ${dsn}; dbrest_schemas "public, other"; dbrest_anon_role anon; ${more} }`;

const file = wholeFile();
let database: TestDatabase;
let gateway: Gateway;
let url: string;
beforeAll(async () => {
  database = await postgres(TYPED);
  gateway = await startGateway(
    file,
    `server { ${location(database.dsn, `dbrest_jwt_secret "${SECRET}";`)}
      location /open/ { dbrest_pass ${database.dsn}; dbrest_anon_role anon; }
      location /silent/ { dbrest_pass ${database.dsn}; dbrest_anon_role anon; dbrest_openapi off; }
      location /nested/ { dbrest_pass ${database.dsn}; dbrest_anon_role web_user; dbrest_nested_insert on; }
      location /plain { return 200 "{}"; } }`,
  );
  url = `${gateway.url}/rest/v1/`;
});

const ALL = ['--schema', 'public', '--schema', 'other'];
const HERE = ROOT;

test('gw types prints the golden types of a database, formatted as prettier does', async () => {
  const said = await gw(HERE, ['types', database.dsn, ...ALL, '--schema', 'public']);
  expect(said).toMatchObject({ code: 0, stderr: '' });
  // eslint-disable-next-line vitest/no-conditional-in-test -- RECORD=1 writes the file anew
  if (process.env['RECORD']) writeFileSync(GOLDEN, said.stdout);
  expect(said.stdout).toBe(golden());
  expect(await format(said.stdout, { parser: 'typescript', semi: false })).toBe(said.stdout);
});

const NESTED = `import { PostgrestClient } from '@supabase/postgrest-js';
import type { Database } from './database.ts';
const rest = new PostgrestClient<Database>('http://localhost');
export const projects = rest.from('projects').insert([
  { name: 'a', lead_id: 1, project_tags: [{ tags: { name: 't' } }], details: { notes: 'n' } },
  { name: 'b', 'clients!led_by': { name: 'l', mail: 'l@b' } },
]);
// @ts-expect-error -- a list is no row
export const row = rest.from('projects').insert({ name: 'a', details: [{ notes: 'n' }] });
// @ts-expect-error -- the key of the row around it is filled in
export const key = rest.from('projects').insert({ name: 'a', lead_id: 1, details: { project_id: 1 } });
// @ts-expect-error -- nested rows are for inserts
export const changed = rest.from('projects').update({ details: { notes: 'n' } });
`;

test('new rows have members for rows of related tables where the location inserts them', async (t) => {
  const { stdout, code } = await gw(HERE, ['types', '--url', `${gateway.url}/nested/`]);
  expect(code).toBe(0);
  const options = { extends: join(ROOT, 'tsconfig.json'), include: ['uses.ts'], exclude: [] };
  const dir = directoryWith(t, {
    'tsconfig.json': JSON.stringify({ ...options, compilerOptions: { types: [] } }),
    'package.json': '{ "type": "module" }',
    'database.ts': stdout,
    'uses.ts': NESTED,
  });
  symlinkSync(join(ROOT, 'node_modules'), join(dir, 'node_modules'));
  const compiler = join(ROOT, 'node_modules/.bin/tsc');
  expect(await runIn(ROOT, [compiler, '-p', dir])).toEqual({ code: 0, stdout: '', stderr: '' });
  expect(await format(stdout, { parser: 'typescript', semi: false })).toBe(stdout);
});

test('supabase-js infers rows, embeds, writes and calls from the golden types', async (t) => {
  const options = { extends: join(ROOT, 'tsconfig.json'), include: [join(TYPES, 'uses.ts')], exclude: [] };
  const dir = directoryWith(t, {
    'tsconfig.json': JSON.stringify({ ...options, compilerOptions: { types: [] } }),
  });
  const compiler = join(ROOT, 'node_modules/.bin/tsc');
  expect(await runIn(ROOT, [compiler, '-p', dir])).toEqual({ code: 0, stdout: '', stderr: '' });
});

test('gw types takes database and schemas from the location of a configuration', async (t) => {
  const dir = directoryWith(t, {
    'gateway.conf': `http { server { listen 127.0.0.1:18998; ${location(database.dsn)} } }`,
  });
  expect(await gw(dir, ['types'])).toEqual({ code: 0, stdout: golden(), stderr: '' });
  const one = await gw(dir, ['types', '-c', 'gateway.conf', '--schema', 'other']);
  expect(one.stdout).toContain(`
  other: {
    Tables: {
      things: {`);
  expect(one.stdout).not.toContain('  public: {');
  expect(one.stdout).toContain('type DefaultSchemaName = "other"');
});

test('gw types gets the same types from a running gateway', async () => {
  const token = sign({ role: 'web_user' });
  const said = await gw(HERE, ['types', '--url', url], { GW_TOKEN: token });
  expect(said).toEqual({ code: 0, stdout: golden(), stderr: '' });
  const given = await gw(HERE, ['types', '--url', url, '--token', token], { GW_TOKEN: 'x' });
  expect(given.stdout).toBe(said.stdout);
});

test('a role sees the types of what it may use, from a gateway as from a database', async () => {
  const limited = await gw(HERE, ['types', '--url', url, '--schema', 'public']);
  expect(limited).toMatchObject({ code: 0, stderr: '' });
  expect(limited.stdout).toContain(
    '      clients: {\n        Row: {\n          colours: ("red" | "green")[] | null\n',
  );
  expect(limited.stdout).not.toMatch(/ (details|nodes|secret|replaced): /);
  expect(limited.stdout).toContain('        Insert: {\n          colours?: never\n          id?: never\n');
  expect(limited.stdout).toContain('          name: string\n          pair?: never\n');
  const same = await gw(HERE, ['types', database.dsn, '--role', 'anon', '--schema', 'public']);
  expect(limited.stdout).toBe(same.stdout);
});

test('gw types --token-file reads the token from a file', async (t) => {
  const dir = directoryWith(t, { token: `${sign({ role: 'web_user' })}\n` });
  const said = await gw(dir, ['types', '--url', url, '--token-file', 'token']);
  expect(said).toEqual({ code: 0, stdout: golden(), stderr: '' });
});

test('gw types --output writes a file only if it differs, and --check tells whether it does', async (t) => {
  const dir = directoryWith(t, {});
  const run = (...args: string[]) => gw(dir, ['types', database.dsn, ...ALL, '-o', 'db.ts', ...args]);
  const path = join(dir, 'db.ts');
  expect(await run('--check')).toEqual({ code: 1, stdout: '', stderr: 'gw: "db.ts" is out of date\n' });
  expect(await run()).toEqual({ code: 0, stdout: '', stderr: 'gw: "db.ts" is written\n' });
  expect(readFileSync(path, 'utf8')).toBe(golden());
  const { ino } = statSync(path);
  expect(await run()).toEqual({ code: 0, stdout: '', stderr: 'gw: "db.ts" is unchanged\n' });
  expect(statSync(path).ino).toBe(ino);
  expect(await run('--check')).toEqual({ code: 0, stdout: '', stderr: '' });
  writeFileSync(path, '// old\n');
  expect(await run('--check')).toMatchObject({ code: 1 });
  expect(readFileSync(path, 'utf8')).toBe('// old\n');
});

test('gw types fails with the name of a file that it cannot write', async (t) => {
  const dir = directoryWith(t, {});
  const said = await gw(dir, ['types', database.dsn, '-o', 'no/db.ts']);
  expect(said).toEqual({
    code: 1,
    stdout: '',
    stderr: 'gw: open() "no/db.ts" failed (2: No such file or directory)\n',
  });
});

test('a token of nobody and a location that describes nothing are the answer of the gateway', async () => {
  const silent = await gw(HERE, ['types', '--url', `${gateway.url}/silent/`]);
  expect(silent).toMatchObject({ code: 1, stdout: '' });
  expect(silent.stderr).toMatch(/^gw: http:\/\/127\.0\.0\.1:\d+\/silent\/ responds 404: .*\n$/);
  const plain = await gw(HERE, ['types', '--url', `${gateway.url}/plain?key=topsecret`]);
  expect(plain.stderr).toMatch(/^gw: http:\/\/127\.0\.0\.1:\d+\/plain does not describe types\n$/);
  const other = await gw(HERE, ['types', '--url', `${gateway.url}/open/`, '--schema', 'other']);
  expect(other.stderr).toBe('gw: schema "other" is not served, expected public\n');
});

const hostile: readonly { it: string; body: string }[] = [
  { it: 'nothing', body: '' },
  { it: 'another document', body: '{"openapi":"3.1.0"}' },
  { it: 'a type that would be code', body: withType('string; }; evil()') },
  { it: 'a type with members of another kind', body: withType({ named: 'enum', schema: 1, name: 'x' }) },
  { it: 'arrays without end', body: withType(nestedArrays(3_000)) },
];

function withType(type: unknown): string {
  const column = {
    name: 'a',
    type,
    isNullable: false,
    isReadable: true,
    insert: 'optional',
    update: 'never',
  };
  const table = { name: 't', columns: [column], computed: [], relationships: [], isWritable: true };
  const schema = { name: 'public', tables: [table], views: [], functions: [], enums: [], composites: [] };
  return JSON.stringify({ schemas: [schema] });
}

function nestedArrays(depth: number): unknown {
  let type: unknown = 'string';
  for (let i = 0; i < depth; i += 1) type = { arrayOf: type };
  return type;
}

for (const { it, body } of hostile) {
  test(`gw types takes from a server no ${it}`, async (t) => {
    const server = createServer((_, response) => void response.end(body));
    await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
    t.onTestFinished(() => void server.close());
    const said = await gw(HERE, [
      'types',
      '--url',
      `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ]);
    expect(said).toMatchObject({ code: 1, stdout: '' });
    expect(said.stderr).toMatch(/^gw: http:\/\/127\.0\.0\.1:\d+\/ does not describe types\n$/);
  });
}

test('names from a server are texts in the types, whatever they contain', async (t) => {
  const named = withType({ named: 'enum', schema: 'a"]; evil()', name: "b\n'`${c}" });
  const server = createServer((_, response) => void response.end(named));
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
  t.onTestFinished(() => void server.close());
  const said = await gw(HERE, [
    'types',
    '--url',
    `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  ]);
  expect(said.stdout).toContain('a: Database["a\\"]; evil()"]["Enums"]["b\\n\'`${c}"]');
});

/** Starts `gw types --watch`, which runs until the test ends. */
function watching(t: Owner, dir: string, args: readonly string[]): Launched {
  const program = launch(process.execPath, [GW, 'types', ...args, '-o', 'db.ts', '--watch'], { cwd: dir });
  t.onTestFinished(async () => void (await program.stop('SIGKILL')));
  return program;
}

const WRITTEN = 'gw: "db.ts" is written\n';
const times = (count: number): RegExp => new RegExp(`^(${WRITTEN}){${count}}$`);

test('gw types --watch writes the file again when the database announces a change', async (t) => {
  const own = await postgres('create table things (id int primary key)');
  const dir = directoryWith(t, {});
  // So long an interval that only the notification can be the cause.
  const program = watching(t, dir, [own.dsn, '--interval', '1000m']);
  await program.waitForOutput(times(1));
  const path = join(dir, 'db.ts');
  expect(readFileSync(path, 'utf8')).not.toContain('label');
  await own.query(`alter table things add label text; notify pgrst, 'reload schema'`);
  await program.waitForOutput(times(2));
  expect(readFileSync(path, 'utf8')).toContain('          label: string | null\n');
  await own.query(`alter table things drop label; notify gw`);
  await program.waitForOutput(times(3));
  expect(readFileSync(path, 'utf8')).not.toContain('label');
});

test('gw types --watch looks for changes that nobody announces', async (t) => {
  const own = await postgres('create table things (id int primary key)');
  const dir = directoryWith(t, {});
  const program = watching(t, dir, [own.dsn, '--interval', '100ms']);
  await program.waitForOutput(times(1));
  await own.query('alter table things add label text');
  await program.waitForOutput(times(2));
  expect(readFileSync(join(dir, 'db.ts'), 'utf8')).toContain('          label: string | null\n');
});

test('gw types --watch asks a gateway again and again, also when it does not respond', async (t) => {
  const answers = [withType('string'), undefined, undefined, withType('number')];
  const server = createServer((_, response) => {
    const body = answers.length > 1 ? answers.shift() : answers[0];
    if (body === undefined) response.destroy();
    else response.end(body);
  });
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
  t.onTestFinished(() => void server.close());
  const dir = directoryWith(t, {});
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const program = watching(t, dir, ['--url', address, '--interval', '100ms']);
  await program.waitForOutput(/written\n[^]*written\n$/);
  expect(program.output()).toMatch(
    /^gw: "db\.ts" is written\ngw: http:\S+ does not respond: .*; trying again\ngw: "db\.ts" is written\n$/,
  );
  expect(readFileSync(join(dir, 'db.ts'), 'utf8')).toContain('          a: number\n');
});

const SEVERAL = `http { server { listen 127.0.0.1:18997; server_name shop.test;
  location /a/ { dbrest_pass postgresql://u:topsecret@127.0.0.1:1/db; dbrest_schemas "api, more"; dbrest_anon_role anon; }
  location /b/ { dbrest_pass postgresql://u:topsecret@127.0.0.1:1/db; dbrest_anon_role anon; }
} }`;

const faults: readonly { args: readonly string[]; code: number; says: string | RegExp }[] = [
  {
    args: ['-c', 'gateway.conf'],
    code: 2,
    says: `gw: several locations serve a database: choose one with --location, by its path or its place
  /a/ of server "shop.test" in gateway.conf:2
  /b/ of server "shop.test" in gateway.conf:3
`,
  },
  {
    args: ['-c', 'gateway.conf', '--location', '/c/'],
    code: 2,
    says: `gw: no location "/c/" serves a database; these do:
  /a/ of server "shop.test" in gateway.conf:2
  /b/ of server "shop.test" in gateway.conf:3
`,
  },
  {
    args: ['--location', '/a/', '--schema', 'public'],
    code: 1,
    says: 'gw: schema "public" is not served, expected api, more\n',
  },
  {
    args: ['--location', '/b/'],
    code: 1,
    says: /^gw: cannot connect to "127\.0\.0\.1:1\/db": .*ECONNREFUSED.*\n$/,
  },
  {
    args: ['-c', 'nix.conf'],
    code: 1,
    says: 'gw: [emerg] open() "DIR/nix.conf" failed (2: No such file or directory)\n',
  },
  {
    args: ['postgres://u:topsecret@127.0.0.1:1/db'],
    code: 1,
    says: /^gw: cannot connect to "127\.0\.0\.1:1\/db": .*ECONNREFUSED.*\n$/,
  },
  { args: ['postgres://u:topsecret@h:x/db'], code: 2, says: /^gw: malformed connection string(, .*)?\n$/ },
  {
    args: ['DSN', '--schema', 'nix'],
    code: 1,
    says: 'gw: schema "nix" does not exist, expected other, public\n',
  },
  {
    args: ['DSN', '--role', 'nobody'],
    code: 1,
    says: 'gw: role "nobody" does not exist, or the login role may not become it\n',
  },
  { args: ['DSN', '-c', 'gateway.conf'], code: 2, says: 'gw: name one of a database, --config and --url\n' },
  { args: ['DSN', '--location', '/a/'], code: 2, says: 'gw: --location is for configurations\n' },
  { args: ['DSN', '--token', 'topsecret'], code: 2, says: 'gw: --token and --token-file are for --url\n' },
  { args: ['DSN', '--check'], code: 2, says: 'gw: --check needs the file: --output\n' },
  { args: ['DSN', '--watch'], code: 2, says: 'gw: --watch needs the file: --output\n' },
  {
    args: ['DSN', '-o', 'x', '--check', '--watch'],
    code: 2,
    says: 'gw: --check and --watch exclude each other\n',
  },
  {
    args: ['DSN', '-o', 'x', '--watch', '--interval', '1'],
    code: 2,
    says: 'gw: invalid value "1" of option "--interval <time>"\n  expected a time such as 5s\n',
  },
  {
    args: ['--url', 'http://u:topsecret@127.0.0.1/'],
    code: 2,
    says: 'gw: invalid --url\n  it must not contain a password; --token-file takes a token\n',
  },
  { args: ['--url', 'ftp://x'], code: 2, says: 'gw: invalid --url\n  expected http://host:port/path/\n' },
  {
    args: ['--url', 'http://127.0.0.1:CLOSED/?key=topsecret', '--token', 'topsecret'],
    code: 1,
    says: /^gw: http:\/\/127\.0\.0\.1:\d+\/ does not respond: .*ECONNREFUSED.*\n$/,
  },
  {
    args: ['--url', 'http://127.0.0.1:1/', '--token-file', 'nix'],
    code: 1,
    says: 'gw: open() "nix" failed (2: No such file or directory)\n',
  },
  {
    args: ['--url', 'http://127.0.0.1:1/', '--token', 'topsecret\nX: y'],
    code: 2,
    says: 'gw: the token has characters that no token has\n',
  },
  {
    args: ['--url', 'http://127.0.0.1:1/', '--role', 'anon'],
    code: 2,
    says: 'gw: --role is for databases: a gateway knows it from the token\n',
  },
];

for (const { args, code, says } of faults) {
  test(`gw types ${JSON.stringify(args)} ends with ${code}`, async (t) => {
    const dir = directoryWith(t, { 'gateway.conf': SEVERAL });
    const closed = String(await freePort());
    const given = args.map((arg) => arg.replace('DSN', database.dsn).replace('CLOSED', closed));
    const said = await gw(dir, ['types', ...given]);
    expect(said).toMatchObject({ code, stdout: '' });
    expect(said.stderr).not.toContain('topsecret');
    if (typeof says === 'string') expect(said.stderr).toBe(says);
    else expect(said.stderr).toMatch(says);
  });
}
