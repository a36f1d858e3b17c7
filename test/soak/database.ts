import { mkdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/modules/dbrest/embedded/index.ts';
import { freePort } from '../harness/ports.ts';
import { trustAll } from '../harness/trust-all.ts';

const FIXTURE = `
  create role authenticator login noinherit;
  create role anon; create role reader; create role writer;
  grant anon, reader, writer to authenticator;
  create table items (id bigint generated always as identity primary key, name text not null, price numeric, tags jsonb);
  create table fixed (id int primary key, name text not null);
  insert into fixed select i, 'name ' || i from generate_series(1, 500) i;
  create table mine (owner text not null default current_user, note text);
  grant all on items to anon, reader, writer;
  grant select on fixed to anon, reader, writer;
  grant all on mine to reader, writer;
  create function who() returns json stable language sql as
    $$ select json_build_object('role', current_user, 'claims', nullif(current_setting('request.jwt.claims', true), '')::json) $$;
  create function nap(seconds float) returns void language sql as $$ select pg_sleep(seconds) $$;
  create function fail(code text) returns void language plpgsql as
    $$ begin raise exception using errcode = code, message = 'asked for'; end $$;
`;

/** A real PostgreSQL that can be stopped, killed and started again with the same data. */
export class Database {
  readonly port: number;
  readonly #dir: string;
  #server: EmbeddedPostgres | undefined;

  static async start(dir: string): Promise<Database> {
    const home = join(dir, 'database');
    mkdirSync(home, { mode: 0o711 });
    const database = new Database(home, await freePort());
    await database.start();
    await database.query(FIXTURE);
    return database;
  }

  private constructor(dir: string, port: number) {
    this.#dir = dir;
    this.port = port;
  }

  get dsn(): string {
    return this.through(this.port);
  }

  /** The connection string of the port of a pooler, or of the server itself. */
  through(port: number): string {
    return `postgresql://authenticator@127.0.0.1:${port}/postgres`;
  }

  async start(): Promise<void> {
    const settings = {
      ...trustAll(this.#dir),
      listen_addresses: '127.0.0.1',
      port: String(this.port),
      fsync: 'off',
    };
    const dataDir = join(this.#dir, 'data');
    for (let tries = 1; ; tries++) {
      try {
        this.#server = await startEmbeddedPostgres({ dataDir, settings, log: { write: () => undefined } });
        return;
      } catch (error) {
        // After a kill its sessions hold the shared memory until they notice.
        if (tries === 50) throw error;
        await sleep(200);
      }
    }
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
  }

  /** Stops it and removes its files: for root they are elsewhere, and the path is a link. */
  async close(): Promise<void> {
    await this.stop();
    rmSync(realpathSync(join(this.#dir, 'data')), { recursive: true, force: true });
  }

  /** Kills it without a shutdown. Resolves when the process is gone: until then a start would find a server that still runs. */
  async kill(): Promise<void> {
    const file = join(realpathSync(join(this.#dir, 'data')), 'postmaster.pid');
    const pid = Number.parseInt(readFileSync(file, 'utf8'), 10);
    process.kill(pid, 'SIGKILL');
    while (isAlive(pid)) await sleep(1);
  }

  async query<Row extends pg.QueryResultRow>(sql: string): Promise<Row[]> {
    const client = new pg.Client({
      host: '127.0.0.1',
      port: this.port,
      user: 'postgres',
      database: 'postgres',
    });
    client.on('error', () => undefined);
    await client.connect();
    try {
      const { rows } = await client.query<Row>(sql);
      return rows;
    } finally {
      await client.end();
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
