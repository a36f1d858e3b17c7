import type { ErrorLog } from '../../log/index.ts';
import { Pool, PoolRefusal } from '../../pool/index.ts';
import type { DatabaseMetrics } from './metrics.ts';
import type { Facts } from './facts.ts';
import { FACTS_SQL, readFacts } from './facts.ts';
import { noSchemaCache } from './fault/index.ts';
import type { Schema } from './schema/index.ts';
import { CATALOGUE_SQL, readCatalogue, SchemaCache } from './schema/index.ts';
import type { Results, Session, Step } from './session/index.ts';
import { ConnectionLost } from './session/index.ts';

const MAX_AGE_MS = 30 * 60_000;
const CATALOGUE_DEADLINE_MS = 30_000;
const SCHEMA_WAIT_MS = 10_000;
const PROBE_WAIT_MS = 1_000;
/** What the server gets on top of `statement_timeout` to say so itself. */
const GRACE_MS = 500;

/** Who waits for a read: an exchange. */
export interface Reader {
  readonly aborted: boolean;
  /** Has been given a part of the answer. */
  readonly done?: boolean;
  onAbort(listener: () => void): void;
}

/** What a location allows its requests. */
export interface ReadRules {
  readonly poolTimeoutMs: number;
  readonly poolQueue: number;
  readonly timeoutMs: number;
}

export interface DatabaseOptions {
  /** As the log names it; without secrets. */
  readonly name: string;
  /** Connects; `ended` is called when the session is gone. */
  readonly open: (ended: (session: Session) => void) => Promise<Session>;
  readonly log: ErrorLog;
  readonly metrics: DatabaseMetrics;
}

/** One database for one worker: its sessions, shared by all locations that name it, and what is known of its schema. */
export class Database {
  readonly schema: SchemaCache;
  readonly #pool: Pool<Session>;
  readonly #log: ErrorLog;
  readonly #name: string;
  readonly #sizes: number[] = [];
  readonly #metrics: DatabaseMetrics;
  readonly #hidePool: () => void;
  #facts: Promise<Facts> | undefined;

  constructor({ name, open, log, metrics }: DatabaseOptions) {
    this.#name = name;
    this.#log = log;
    this.#metrics = metrics;
    this.schema = new SchemaCache(() => metrics.load(() => this.#readSchema()));
    this.#pool = new Pool<Session>({
      open: () => open((session) => this.#pool.discard(session)),
      close: (session) => session.end(),
      size: 1,
      maxAgeMs: MAX_AGE_MS,
      unreachable: (error) => this.#noteReachability(error),
    });
    this.#hidePool = metrics.showPool(() => this.#pool.level);
  }

  /** Lets the pool grow to the largest size that is claimed at the moment; gives the way to take the claim back. */
  claim(size: number): () => void {
    this.#sizes.push(size);
    this.#pool.resize(Math.max(...this.#sizes));
    return () => {
      this.#sizes.splice(this.#sizes.indexOf(size), 1);
      if (this.#sizes.length > 0) this.#pool.resize(Math.max(...this.#sizes));
    };
  }

  /**
   * Runs an idempotent read: cancelled when the reader goes away, sent once more when its connection broke before the
   * reader was given anything. Rejects with `PoolRefusal`, `ConnectionLost`, the server's error or a sink's.
   */
  async read(steps: readonly Step[], reader: Reader, rules: ReadRules): Promise<Results> {
    let running: Session | undefined;
    reader.onAbort(() => running?.cancel());
    const use = async (): Promise<Results> => {
      const session = await this.#acquire(reader, rules);
      running = session;
      const startedMs = performance.now();
      try {
        return await session.run(steps, rules.timeoutMs + GRACE_MS);
      } finally {
        running = undefined;
        this.#metrics.queries.observe((performance.now() - startedMs) / 1000);
        this.#pool.release(session, session.broken);
      }
    };
    try {
      return await use();
    } catch (error) {
      if (!mayRetry(error) || reader.aborted || reader.done === true) throw error;
      return use();
    }
  }

  /** What only few requests need to know; asked for once. Rejects as `read` does. */
  facts(): Promise<Facts> {
    this.#facts ??= this.#readOnce(FACTS_SQL).then(readFacts);
    this.#facts.catch(() => (this.#facts = undefined));
    return this.#facts;
  }

  /** Why it cannot be worked with, if so: reads the schema unless that is known. */
  async fault(): Promise<string | undefined> {
    try {
      await this.schema.current();
      await this.#readOnce('select 1', PROBE_WAIT_MS);
      return undefined;
    } catch (error) {
      if (!(error instanceof PoolRefusal)) return 'the schema cannot be read';
      // Busy is not broken: others would be no better off with this gateway's share.
      return error.reason === 'full' || error.reason === 'late' ? undefined : 'not reachable';
    }
  }

  close(): Promise<void> {
    this.#hidePool();
    return this.#pool.close();
  }

  async #acquire(reader: Reader, { poolTimeoutMs, poolQueue }: ReadRules): Promise<Session> {
    const session = await this.#pool
      .acquire({ waitMs: poolTimeoutMs, queueLimit: poolQueue, abandoned: () => reader.aborted })
      .catch((refusal: PoolRefusal) => {
        if (refusal.reason === 'late') this.#metrics.timeouts.add();
        throw refusal;
      });
    if (!reader.aborted) return session;
    this.#pool.release(session);
    throw new PoolRefusal('abandoned');
  }

  async #readSchema(): Promise<Schema> {
    try {
      return readCatalogue(await this.#readOnce(CATALOGUE_SQL));
    } catch (error) {
      if (error instanceof PoolRefusal) throw error;
      this.#log.write(
        'error',
        `dbrest: cannot read the schema of ${this.#name}: ${(error as Error).message}`,
      );
      throw noSchemaCache();
    }
  }

  /** One text, for nobody in particular. */
  async #readOnce(text: string, waitMs = SCHEMA_WAIT_MS): Promise<string> {
    const everyone: Reader = { aborted: false, onAbort: () => undefined };
    const rules = { poolTimeoutMs: waitMs, poolQueue: Infinity, timeoutMs: CATALOGUE_DEADLINE_MS };
    const [row] = await this.read([{ statement: { text, values: [] } }], everyone, rules);
    return row?.[0] ?? '';
  }

  #noteReachability(error: Error | undefined): void {
    if (error)
      this.#log.write('error', `dbrest: cannot connect to ${this.#name}: ${error.message}; trying again`);
    else this.#log.write('notice', `dbrest: connected to ${this.#name} again`);
  }
}

function mayRetry(error: unknown): boolean {
  if (error instanceof ConnectionLost) return !error.late;
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && /^(57P0[1-3]|26000)$/.test(code);
}
