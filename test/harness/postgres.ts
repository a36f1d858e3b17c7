import { createHash, randomUUID } from 'node:crypto';
import pg from 'pg';
import { service } from './services.ts';

export interface TestDatabase {
  /** URI that logs in as `authenticator`, which may become `anon`, `web_user` and `web_admin`. */
  readonly dsn: string;
  /** URI of the superuser. */
  readonly adminDsn: string;
  readonly host: string;
  readonly port: number;
  /** The directory of the same server's Unix socket. */
  readonly socketDir: string;
  readonly database: string;
  /** Of the server: 18 for PostgreSQL 18.1. */
  readonly majorVersion: number;
  /** Runs SQL as the superuser; returns the rows of the last statement. */
  query<Row extends pg.QueryResultRow>(sql: string, values?: readonly unknown[]): Promise<Row[]>;
}

/** The key of the advisory lock for creating a template; any number will do. */
const TEMPLATE_LOCK = 7_304_117;

/**
 * A fresh database of a real PostgreSQL, filled by `fixture` (SQL, run once per test run as the superuser: later calls
 * with the same text copy its result). It goes when the run ends.
 */
export async function postgres(fixture = ''): Promise<TestDatabase> {
  const { host, port, socketDir } = await service('postgres');
  const dsn = (user: string, database: string) => `postgresql://${user}@${host}:${port}/${database}`;
  const database = `test_${randomUUID().replaceAll('-', '')}`;
  const adminDsn = dsn('postgres', database);

  const majorVersion = await withClient(dsn('postgres', 'postgres'), async (client) => {
    const { rows } = await client.query<{ major: number }>(
      `select pg_advisory_lock($1), current_setting('server_version_num')::int / 10000 as major`,
      [TEMPLATE_LOCK],
    );
    const major = rows[0]?.major ?? 0;
    const template = await openTemplate(client, fixture, (name) => dsn('postgres', name));
    // Copied files take half of the time that it takes to log each page.
    const strategy = major < 15 ? '' : 'strategy file_copy';
    await client.query(`create database ${database} template ${template} ${strategy}`);
    return major;
  });
  const query = <Row extends pg.QueryResultRow>(
    sql: string,
    values: readonly unknown[] = [],
  ): Promise<Row[]> =>
    withClient(adminDsn, async (client) => {
      const result = await client.query<Row>(sql, [...values]);
      return (Array.isArray(result) ? (result as pg.QueryResult<Row>[]).at(-1) : result)?.rows ?? [];
    });
  return {
    dsn: dsn('authenticator', database),
    adminDsn,
    host,
    port,
    socketDir,
    database,
    majorVersion,
    query,
  };
}

async function openTemplate(
  admin: pg.Client,
  fixture: string,
  dsn: (database: string) => string,
): Promise<string> {
  if (fixture === '') return 'template1';
  const template = `fixture_${createHash('sha256').update(fixture).digest('hex').slice(0, 24)}`;
  const { rowCount } = await admin.query('select from pg_database where datname = $1', [template]);
  if (rowCount === 1) return template;
  await admin.query(`create database ${template}`);
  try {
    await withClient(dsn(template), (client) => client.query(fixture));
  } catch (error) {
    await admin.query(`drop database ${template}`);
    throw error;
  }
  return template;
}

async function withClient<T>(dsn: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: dsn });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}
