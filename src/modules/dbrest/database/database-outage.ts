import { CountedLine, type ErrorLog, Outage } from '../../../log/index.ts';
import type { Counter } from '../../../zone/index.ts';
import type { DbrestFault } from '../fault/index.ts';

interface DatabaseOutageParts {
  /** As in the log. */
  readonly name: string;
  readonly log: ErrorLog;
  /** The state that workers share. */
  readonly shared: Int32Array;
  readonly workerId: number;
  /** Counts the requests that fail meanwhile. */
  readonly unreached: Pick<Counter, 'add'>;
}

const LOST = 'PGRST001';
/** Faults of requests that get no connection, lose it, or find no schema. */
const UNREACHED: ReadonlySet<string> = new Set(['PGRST000', LOST, 'PGRST002', 'PGRST003']);

/** What the log says when a database cannot be reached: a few lines, however many requests fail meanwhile. */
export class DatabaseOutage {
  readonly #outage: Outage;
  /** Requests whose connection was lost shortly after that of another one. */
  readonly #lost: CountedLine;
  readonly #unreached: Pick<Counter, 'add'>;
  #isReachable = true;

  constructor({ name, log, shared, workerId, unreached }: DatabaseOutageParts) {
    this.#unreached = unreached;
    const lines = {
      prefix: 'dbrest',
      requests: `requests for ${name}`,
      begun: (reason: string) => `cannot connect to ${name}: ${reason}; trying again`,
      over: `connected to ${name} again`,
    };
    this.#outage = new Outage({ log, lines, shared, workerId });
    this.#lost = new CountedLine((count) =>
      log.write('error', `dbrest: ${count} more requests have lost their connections to ${name}`),
    );
  }

  /** Logs each change once: the pool and the listener both notice it. */
  note(error: Error | undefined): void {
    if (this.#isReachable === !error) return;
    this.#isReachable = !error;
    if (error) this.#outage.begin(error.message);
    else this.#outage.end();
  }

  /** Tells whether the line about a request is one of many: the outage has lines of its own, which count it. */
  holds({ code, details }: DbrestFault): boolean {
    if (!UNREACHED.has(code)) return false;
    if (!this.#outage.isUnderWay) return code === LOST && details === null && !this.#lost.add();
    this.#outage.failed();
    this.#unreached.add();
    return true;
  }

  close(): void {
    this.#outage.close();
    this.#lost.close();
  }
}
