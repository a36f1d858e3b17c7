import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type PoolerOptions, startPgbouncer } from './own-pgbouncer.ts';
import type { Owner } from './owner.ts';
import type { TestDatabase } from './postgres.ts';
import { service } from './services.ts';

/** A PgBouncer in front of a database. */
export interface TestPooler {
  /** The connection string of the database by way of the pooler, for the role of `TestDatabase.dsn`. */
  readonly dsn: string;
  /** That of the superuser. */
  readonly adminDsn: string;
}

/** The version of the program that the tests have, for example 1.18. */
export async function pgbouncerVersion(): Promise<number> {
  const { program } = await service('pgbouncer');
  const { stdout } = await promisify(execFile)(program, ['-V']);
  return Number(/^PgBouncer (\d+\.\d+)/.exec(stdout)?.[1]);
}

/** Starts a PgBouncer in front of a database; it ends with its owner. */
export async function pgbouncer(t: Owner, db: TestDatabase, options: PoolerOptions): Promise<TestPooler> {
  const { program } = await service('pgbouncer');
  const port = await startPgbouncer(t, { program, server: db, ...options });
  const through = (dsn: string): string => dsn.replace(`:${db.port}/`, `:${port}/`);
  return { dsn: through(db.dsn), adminDsn: through(db.adminDsn) };
}
