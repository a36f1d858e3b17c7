import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Owner } from '../harness/owner.ts';

export interface Pace {
  readonly rounds: number;
  /** Whole seconds: wrk and pgbench know no others. */
  readonly roundSeconds: number;
  readonly warmUpSeconds: number;
  /** Rounds before the first one that counts; fewer, when V8 has seen enough requests. */
  readonly warmUpRounds: number;
  /** Starts of a program whose start time is measured. */
  readonly starts: number;
}

/** Many lines, each with less rounds. */
export const SHORT: Pace = { rounds: 3, roundSeconds: 1, warmUpSeconds: 1, warmUpRounds: 2, starts: 5 };
export const FULL: Pace = { rounds: 5, roundSeconds: 2, warmUpSeconds: 2, warmUpRounds: 3, starts: 7 };
export const QUICK: Pace = { rounds: 3, roundSeconds: 1, warmUpSeconds: 1, warmUpRounds: 2, starts: 3 };

/** What a row works with: the duration of rounds, a directory, and an owner of everything it starts. */
export class Bench implements Owner, Pace {
  readonly rounds: number;
  readonly roundSeconds: number;
  readonly warmUpSeconds: number;
  readonly warmUpRounds: number;
  readonly starts: number;
  readonly dir: string;
  /** Where gateways write CPU profiles, if they do. */
  readonly profileDir: string | undefined;
  readonly #stops: (() => Promise<void>)[] = [];
  #closing: Promise<void> | undefined;

  constructor(pace: Pace, profileDir?: string) {
    this.rounds = pace.rounds;
    this.roundSeconds = pace.roundSeconds;
    this.warmUpSeconds = pace.warmUpSeconds;
    this.warmUpRounds = pace.warmUpRounds;
    this.starts = pace.starts;
    this.profileDir = profileDir;
    this.dir = mkdtempSync(join(tmpdir(), 'gw-bench-'));
    // When root runs the benchmark, servers run as other users, who need access to this directory.
    chmodSync(this.dir, 0o711);
    this.onTestFinished(async () => rmSync(this.dir, { recursive: true, force: true }));
  }

  onTestFinished(stop: () => Promise<void>): void {
    this.#stops.push(stop);
  }

  /** Gives a part of the row a bench of its own, and stops what the part started. */
  async apart<T>(run: (own: Bench) => Promise<T>): Promise<T> {
    const own = new Bench(this, this.profileDir);
    this.onTestFinished(() => own.close());
    try {
      return await run(own);
    } finally {
      await own.close();
    }
  }

  /** Stops everything that the row started, last first, and removes its files. */
  close(): Promise<void> {
    // An interrupted row fails and closes too, while its first close is still at work.
    return (this.#closing ??= this.#stopAll());
  }

  async #stopAll(): Promise<void> {
    const faults: unknown[] = [];
    for (let stop = this.#stops.pop(); stop; stop = this.#stops.pop()) {
      await stop().catch((fault: unknown) => faults.push(fault));
    }
    if (faults.length > 0) throw faults[0];
  }
}
