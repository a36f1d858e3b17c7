import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runEmbeddedInit, startEmbeddedPostgres } from '../../../src/modules/dbrest/embedded/index.ts';
import { startProgram } from '../../harness/program.ts';

const isRoot = process.getuid?.() === 0;
const log = { write: () => undefined };

/** Starts embedded PostgreSQL and keeps running, or prints why it cannot start. */
const PROGRAM = `
  import { runEmbeddedInit, startEmbeddedPostgres } from '~/src/modules/dbrest/embedded/index.ts';
  const starting = startEmbeddedPostgres({ dataDir: process.argv[2], log: { write() {} } });
  starting.then(({ dsn }) => console.log(dsn), ({ message }) => console.log(message));
  setInterval(() => undefined, 60_000);
`;
let dir: string;

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'gw-embedded-'));
  chmodSync(dir, 0o777);
});
afterAll(() => rmSync(dir, { recursive: true }));

async function query(dsn: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: dsn });
  await client.connect();
  const { rows } = await client.query(sql);
  await client.end();
  return rows;
}

const pidOf = (dataDir: string): number =>
  Number.parseInt(readFileSync(join(dataDir, 'postmaster.pid'), 'utf8'));

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Resolves when the process has ended; the time limit of the test ends the wait. */
async function gone(pid: number): Promise<void> {
  while (isAlive(pid)) await sleep(5);
}

test('a second start finds the data of the first, in a directory that only its owner reads', async () => {
  const dataDir = join(dir, 'twice', 'pg');
  const first = await startEmbeddedPostgres({ dataDir, log });
  await query(first.dsn, 'create table t as select 42 as n');
  expect(first.socketDir).toBe(dataDir);
  expect(statSync(dataDir).mode & 0o777).toBe(0o700);
  const pid = pidOf(dataDir);
  await first.stop();
  expect(isAlive(pid)).toBe(false);

  const second = await startEmbeddedPostgres({ dataDir, log });
  expect(await query(second.dsn, 'select n from t')).toEqual([{ n: 42 }]);
  await second.stop();
});

test('a start on a directory whose server runs joins it, and its stop leaves it running', async () => {
  const dataDir = join(dir, 'twice', 'pg');
  const owner = await startEmbeddedPostgres({ dataDir, log });
  const guest = await startEmbeddedPostgres({ dataDir, log });
  expect(guest.dsn).toBe(owner.dsn);
  await guest.stop();
  expect(await query(owner.dsn, 'select 1 as n')).toEqual([{ n: 1 }]);
  await owner.stop();
});

const INIT_FAULTS = [
  { sql: 'create table é (id int);\n  selec 1;', message: 'syntax error at or near "selec"', at: ':2:3' },
  {
    sql: 'create table a (id int);\ninsert into missing values (1);',
    message: 'relation "missing" does not exist',
    at: ':2:13',
  },
  { sql: 'create table a (id int);\nselect 1/0;', message: 'division by zero', at: '' },
];

test('a fault in the initial SQL is told at its place, and nothing of the file stays', async () => {
  const dataDir = join(dir, 'init');
  const server = await startEmbeddedPostgres({ dataDir, log });
  const file = join(dir, 'init.sql');
  for (const { sql, message, at } of INIT_FAULTS) {
    writeFileSync(file, sql);
    await expect(runEmbeddedInit({ dsn: server.dsn, dataDir, file })).rejects.toThrow(
      new Error(`"dbrest_embedded_init" failed: ${message} in ${file}${at}`),
    );
  }
  expect(await query(server.dsn, `select to_regclass('a') as a`)).toEqual([{ a: null }]);
  await server.stop();
});

test('a start recovers from a server that was killed, and from an interrupted creation', async () => {
  const dataDir = join(dir, 'killed', 'pg');
  mkdirSync(`${dataDir}.draft/base`, { recursive: true });
  const killed = await startEmbeddedPostgres({ dataDir, log });
  await query(killed.dsn, 'create table t as select 42 as n');
  const pid = pidOf(dataDir);
  process.kill(pid, 'SIGKILL');
  await gone(pid);
  await killed.stop();
  const next = await startEmbeddedPostgres({ dataDir, log });
  expect(await query(next.dsn, 'select n from t')).toEqual([{ n: 42 }]);
  await next.stop();
});

test('a path that is too long for a socket moves the socket to /tmp until the stop', async () => {
  const dataDir = join(dir, 'x'.repeat(90), 'blank and "quote"');
  const server = await startEmbeddedPostgres({ dataDir, log });
  expect(server.socketDir).toMatch(/^\/tmp\/gw-\w+$/);
  expect(await query(server.dsn, 'select 1 as n')).toEqual([{ n: 1 }]);
  await server.stop();
  expect(existsSync(server.socketDir)).toBe(false);
});

test('the server runs as an ordinary user and does not outlive a killed gw', async (t) => {
  const dataDir = join(dir, 'ordinary', 'pg');
  mkdirSync(dirname(dataDir));
  chmodSync(dirname(dataDir), 0o777);
  const program = await startProgram(t, PROGRAM, { args: [dataDir], unprivileged: true });
  expect(await query(program.output().trim(), 'select 1 as n')).toEqual([{ n: 1 }]);
  const pid = pidOf(dataDir);
  expect(statSync(dataDir).uid).not.toBe(0);
  await program.stop('SIGKILL');
  await gone(pid);
});

test.runIf(isRoot)(
  'root keeps the data in /var/lib/gw where the server may not enter the directory',
  async () => {
    const dataDir = join(dir, 'closed', 'pg');
    mkdirSync(dirname(dataDir), { mode: 0o700 });
    const server = await startEmbeddedPostgres({ dataDir, log });
    const home = realpathSync(dataDir);
    try {
      expect(home).toMatch(/^\/var\/lib\/gw\/pg-\w+$/);
      expect(await query(server.dsn, 'select 1 as n')).toEqual([{ n: 1 }]);
    } finally {
      await server.stop();
      rmSync(home, { recursive: true });
    }
  },
);

test('a refusal of PostgreSQL names its reason, its log and a remedy', async () => {
  const dataDir = join(dir, 'refused', 'pg');
  const starting = startEmbeddedPostgres({ dataDir, log, settings: { work_mem: 'much' } });
  await expect(starting).rejects.toThrow(
    `embedded PostgreSQL cannot start in "${dataDir}": the server ended: invalid value for parameter "work_mem": "much" ` +
      `(see "${dataDir}/server.log"); name a PostgreSQL server of your own: dbrest_pass postgres://ROLE@HOST/DATABASE`,
  );
});

test('a directory with other contents is left unchanged', async () => {
  const dataDir = join(dir, 'taken');
  mkdirSync(dataDir);
  writeFileSync(join(dataDir, 'letter.txt'), 'dear reader');
  await expect(startEmbeddedPostgres({ dataDir, log })).rejects.toThrow(
    'is not empty and holds no PostgreSQL cluster',
  );
  expect(readFileSync(join(dataDir, 'letter.txt'), 'utf8')).toBe('dear reader');
});

test('the error for an unwritable directory names it and a remedy', async (t) => {
  const dataDir = join(dir, 'read-only', 'pg');
  mkdirSync(dirname(dataDir), { mode: 0o555 });
  const program = await startProgram(t, PROGRAM, { args: [dataDir], unprivileged: true });
  expect(program.output()).toMatch(
    /cannot start in ".*read-only\/pg": EACCES: permission denied, mkdtemp .*; name a PostgreSQL server/,
  );
});
