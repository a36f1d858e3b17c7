import type { open, RootDatabase } from 'lmdb';
import { CountedLine, type ErrorLog } from '../../log/index.ts';
import { makeDirectorySync } from '../../system/index.ts';
import type { Bytes, ConnectionState, Done, Reply, Store, StoreCommand, StoreFault } from './commands.ts';
import type { StoreSettings } from './directives.ts';
import { EMBEDDED_COMMANDS } from './embedded-commands.ts';
import { Records } from './embedded-records.ts';
import { moreFailed, printable } from './response.ts';
import { Call, Outstanding } from './outstanding.ts';
import type { Versions } from './versions.ts';

/** Maximum number of writes of one worker that wait for their commit. */
const MAX_OUTSTANDING = 10_000;
const SWEEP_EVERY_MS = 1_000;
/** Maximum number of keys of one sweep, which holds the write lock that all workers share. */
const SWEEP_KEYS = 1_000;

/** The settings of an embedded store. */
interface EmbeddedStoreParts {
  /** Absolute. */
  readonly dir: string;
  readonly settings: Pick<StoreSettings, 'timeoutMs'>;
  readonly open: typeof open;
  /** True in one worker of the process, which removes expired keys. */
  readonly sweeps: boolean;
  readonly log: ErrorLog;
  readonly versions?: Versions | undefined;
}

type Result = { readonly reply: Reply } | { readonly refused: string };

/**
 * Redis's semantics on LMDB, in this process. All workers open the same files; only one write transaction runs at a
 * time. A write is confirmed once it is on disk.
 */
export class EmbeddedStore implements Store {
  readonly label: string;
  readonly versions: Versions | undefined;
  readonly #records: Records;
  readonly #outstanding: Outstanding<Call>;
  readonly #log: ErrorLog;
  readonly #sweeper: NodeJS.Timeout | undefined;
  readonly #failed: CountedLine;
  #lastGood = true;
  #closed = false;

  constructor({ dir, settings, open, sweeps, log, versions }: EmbeddedStoreParts) {
    makeDirectorySync(dir, 0o700);
    this.label = `embedded:${dir}`;
    this.versions = versions;
    this.#records = new Records(openEnvironment(open, dir));
    this.#log = log;
    this.#outstanding = new Outstanding(settings.timeoutMs, MAX_OUTSTANDING, (late) => {
      log.write('error', `kv: ${late.length} write(s) to ${this.label} timed out`);
    });
    this.#failed = new CountedLine((count) => log.write('error', moreFailed(count, this.label)));
    this.#sweeper = sweeps ? setInterval(() => void this.#sweep(), SWEEP_EVERY_MS) : undefined;
  }

  counts(fault: StoreFault): boolean {
    return fault.code !== 'kv_error' && !this.#failed.add();
  }

  get identity(): string {
    return this.label;
  }

  get state(): ConnectionState {
    if (this.#closed) return 'error';
    return this.#lastGood ? 'connected' : 'degraded';
  }

  run(name: StoreCommand, args: readonly Bytes[], done: Done): void {
    if (this.#closed || this.#outstanding.full) {
      const text = this.#closed ? 'the store is closed' : `${MAX_OUTSTANDING} writes wait already`;
      return done({ code: 'connection_failed', text }, null);
    }
    const bytes = args.map((arg) => (typeof arg === 'string' ? Buffer.from(arg) : arg));
    if (EMBEDDED_COMMANDS[name].writes) return this.#write(name, bytes, done);
    this.#records.refresh();
    this.#finish(this.#attempt(name, bytes), done);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#sweeper);
    await this.#records.close();
    this.#failed.close();
    this.#outstanding.failAll({ code: 'connection_failed', text: 'the store is closed' });
  }

  #write(name: StoreCommand, args: readonly Buffer[], done: Done): void {
    const call = new Call(done, this.#outstanding.deadlineMs());
    this.#outstanding.add(call);
    this.#records
      .transaction(() => this.#attempt(name, args))
      .catch((error: Error): Result => ({ refused: error.message }))
      .then((result) => {
        // Also after a timeout: the write may have been executed late.
        if (args[0]) this.versions?.change(args[0]);
        this.#finish(result, (fault, reply) => this.#outstanding.settle(call, fault, reply));
      })
      .catch((error: unknown) => this.#log.write('crit', `kv: ${printable(String(error))}`));
  }

  /**
   * Runs a command without throwing into a transaction that others share: commands are refused before their first
   * write, and a failed write fails the whole commit.
   */
  #attempt(name: StoreCommand, args: readonly Buffer[]): Result {
    try {
      return { reply: EMBEDDED_COMMANDS[name].run({ records: this.#records, nowMs: Date.now() }, args) };
    } catch (error) {
      return { refused: (error as Error).message };
    }
  }

  #finish(result: Result, done: Done): void {
    this.#lastGood = 'reply' in result;
    if ('reply' in result) done(undefined, result.reply);
    else done({ code: 'kv_error', text: result.refused }, null);
  }

  async #sweep(): Promise<void> {
    try {
      const swept = await this.#records.transaction(() => this.#records.sweep(Date.now(), SWEEP_KEYS));
      if (swept === SWEEP_KEYS && !this.#closed) await this.#sweep();
    } catch (error) {
      if (!this.#closed) this.#log.write('error', `kv: sweep failed: ${printable(String(error))}`);
    }
  }
}

function openEnvironment(openDatabase: typeof open, path: string): RootDatabase {
  // With overlapping sync, a commit would be confirmed before it is on disk.
  return openDatabase({ path, noSubdir: false, overlappingSync: false, maxDbs: 4 });
}
