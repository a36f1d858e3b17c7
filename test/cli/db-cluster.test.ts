import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import type { SchemaItem } from '../../src/cluster/index.ts';
import type { Owner } from '../harness/owner.ts';
import { postgres, type TestDatabase } from '../harness/postgres.ts';
import { directoryWith } from './command.ts';
import { firstAsProgram } from './in-process.ts';

const gw = firstAsProgram();
const HERE = tmpdir();

/** A database, a role that nobody else has, and the arguments that name both. */
async function emptyDatabase(t: Owner): Promise<{ database: TestDatabase; role: string; args: string[] }> {
  const database = await postgres();
  const role = `gw "${randomUUID().slice(0, 8)}"`;
  const quoted = `"${role.replaceAll('"', '""')}"`;
  t.onTestFinished(async () => {
    const [found] = await database.query('select from pg_roles where rolname = $1', [role]);
    if (found) await database.query(`drop owned by ${quoted} cascade; drop role ${quoted}`);
  });
  return { database, role, args: ['--cluster', '--cluster-role', role] };
}

async function itemsOf(args: readonly string[], code: number): Promise<readonly SchemaItem[]> {
  const said = await gw(HERE, ['db', ...args, '--json']);
  expect(said).toMatchObject({ code, stderr: '' });
  return JSON.parse(said.stdout) as SchemaItem[];
}

test('gw db setup --cluster --apply makes what gw db status --cluster misses, and nothing twice', async (t) => {
  const { database, role, args } = await emptyDatabase(t);
  const all = ['--dsn', database.adminDsn, ...args];
  const states = (items: readonly SchemaItem[]) => items.map(({ state }) => state);
  expect(states(await itemsOf(['status', ...all], 1))).toEqual(['ok', 'missing', 'missing', 'missing']);
  expect(states(await itemsOf(['setup', '--apply', ...all], 0))).toEqual(['ok', 'ok', 'ok', 'ok']);
  await database.query(`select gw_cluster.lease('ns', 'kept', 'gw-a', 60000)`);
  const { stdout } = await gw(HERE, ['db', 'setup', '--apply', ...all]);
  expect(stdout.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
    ['ok', 'server', expect.stringMatching(/^PostgreSQL \d+/) as string],
    ['ok', 'tables and functions of clusters', 'version 1'],
    ['ok', `role "${role}"`],
    ['ok', `"${role}" may use them`],
    [''],
  ]);
  expect(await database.query('select name from gw_cluster.leases')).toEqual([{ name: 'kept' }]);
  // Nothing of dbrest is there.
  expect(await database.query(`select nspname from pg_namespace where nspname in ('api', 'gw')`)).toEqual([]);
});

test('psql can run the script of gw db setup --cluster, also twice', async (t) => {
  const { database, args } = await emptyDatabase(t);
  const printed = await gw(HERE, ['db', 'setup', ...args]);
  expect(printed).toMatchObject({ code: 0, stderr: '' });
  for (let n = 0; n < 2; n++) await database.query(printed.stdout);
  await itemsOf(['status', '--dsn', database.adminDsn, ...args], 0);
});

test('an older version is replaced, a newer one is not', async (t) => {
  const { database, args } = await emptyDatabase(t);
  const all = ['--dsn', database.adminDsn, ...args];
  await itemsOf(['setup', '--apply', ...all], 0);
  const setVersion = (version: number) =>
    database.query(
      `create or replace function gw_cluster.version() returns int language sql as 'select ${version}'`,
    );
  await setVersion(0);
  expect((await itemsOf(['status', ...all], 1))[1]).toMatchObject({
    state: 'wrong',
    detail: 'version 0, 1 is needed',
  });
  expect((await itemsOf(['setup', '--apply', ...all], 0))[1]).toMatchObject({ state: 'ok' });
  await setVersion(2);
  expect(await gw(HERE, ['db', 'setup', '--apply', ...all])).toEqual({
    code: 1,
    stdout: '',
    stderr: 'gw: nothing was changed: the store is of version 2, this gw sets up version 1\n',
  });
});

test('a role without the right to set a database up changes nothing', async (t) => {
  const { database, args } = await emptyDatabase(t);
  const dsn = database.adminDsn.replace('//postgres@', '//authenticator@');
  const said = await gw(HERE, ['db', 'setup', '--apply', '--dsn', dsn, ...args]);
  expect(said).toMatchObject({ code: 1, stdout: '' });
  expect(said.stderr).toMatch(
    /^gw: nothing was changed: permission denied for database \w+; let --dsn name a role that may create schemas and roles\n$/,
  );
});

test('gw db status --cluster tells what is wrong with the role', async (t) => {
  const { database, role, args } = await emptyDatabase(t);
  const all = ['--dsn', database.adminDsn, ...args];
  await itemsOf(['setup', '--apply', ...all], 0);
  const quoted = `"${role.replaceAll('"', '""')}"`;
  await database.query(`alter role ${quoted} nologin; revoke usage on schema gw_cluster from ${quoted}`);
  expect((await itemsOf(['status', ...all], 1)).slice(2)).toEqual([
    { what: `role "${role}"`, state: 'wrong', detail: 'cannot log in' },
    { what: `"${role}" may use them`, state: 'missing' },
  ]);
});

test('gw db setup --cluster --password-file stores a password, and never shows it', async (t) => {
  const { database, role, args } = await emptyDatabase(t);
  const dir = directoryWith(t, { 'pw.txt': 'top secret\n' });
  const command = ['db', 'setup', '--password-file', 'pw.txt', ...args];
  const printed = await gw(dir, command);
  const applied = await gw(dir, [...command, '--apply', '--dsn', database.adminDsn]);
  expect(applied.code).toBe(0);
  expect(printed.stdout + applied.stdout + applied.stderr).not.toContain('top secret');
  const sql = 'select rolpassword from pg_authid where rolname = $1';
  const [stored] = await database.query<{ rolpassword: string }>(sql, [role]);
  expect(stored?.rolpassword).toMatch(/^SCRAM-SHA-256\$4096:/);
});

const wrong: readonly { args: readonly string[]; code: number; stderr: string | RegExp }[] = [
  {
    args: ['setup', '--cluster', '--watch', 'api.a'],
    code: 2,
    stderr: 'gw: option "--cluster" cannot be used with option "--watch <table...>"\n',
  },
  {
    args: ['setup', '--cluster', '--cluster-role', 'pg_monitor'],
    code: 2,
    stderr: 'gw: invalid --cluster-role "pg_monitor"\n  PostgreSQL reserves this name\n',
  },
  {
    args: ['status', '--cluster', '--dsn', 'postgres://u:topsecret@h:x/db'],
    code: 1,
    stderr: /^gw: malformed connection string(?!.*topsecret)/,
  },
  {
    args: ['status', '--cluster', '--dsn', 'postgres://u:topsecret@127.0.0.1:1/db'],
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
