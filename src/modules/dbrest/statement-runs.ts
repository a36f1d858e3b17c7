import type { StatementList, StatementView } from '../../contract/index.ts';
import { shownSql } from '../../postgres/index.ts';

/** Statements that a worker lists. */
const MOST_STATEMENTS = 200;
/** Characters of a statement that are kept. Statements that begin alike up to there count as one. */
const LONGEST_TEXT = 4_096;

/** Where statements run, and those that are listed by their texts. */
interface Home {
  readonly database: string;
  readonly location: string;
  readonly listed: Map<string, StatementRuns>;
}

/** Returns the counts of a statement for one more run, or for many: a kept plan has those of its statement. */
export type RunsOf = (text: string, role: string) => StatementRuns;

/** The runs of one statement in one worker. A run is a transaction whose main statement it is. */
export class StatementRuns {
  readonly home: Home;
  readonly text: string;
  /** `undefined` if several roles have run it. */
  role: string | undefined;
  isListed = false;
  calls = 0;
  errors = 0;
  rows = 0;
  totalMs = 0;
  maxMs = 0;
  readonly #all: KnownStatements;
  #sql: string | undefined;

  constructor(all: KnownStatements, home: Home, { text, role }: { text: string; role: string }) {
    this.#all = all;
    this.home = home;
    this.text = text;
    this.role = role;
  }

  /** Counts a run. */
  add(ms: number, hasFailed: boolean): void {
    this.calls += 1;
    if (hasFailed) this.errors += 1;
    this.totalMs += ms;
    if (ms > this.maxMs) this.maxMs = ms;
    this.#all.count(ms);
    if (!this.isListed) this.#all.list(this);
  }

  /** Adds rows of a run, which are known when its response begins. */
  addRows(rows: number): void {
    const counted = this.isListed ? this : (this.home.listed.get(this.text) ?? this);
    counted.rows += rows;
  }

  /** Takes over the runs of another object for the same statement. */
  absorb(other: StatementRuns): void {
    if (this.role !== other.role) this.role = undefined;
    this.calls += other.calls;
    this.errors += other.errors;
    this.rows += other.rows;
    this.totalMs += other.totalMs;
    this.maxMs = Math.max(this.maxMs, other.maxMs);
    other.calls = other.errors = other.rows = other.totalMs = other.maxMs = 0;
  }

  view(): StatementView {
    const { role, calls, errors, rows, totalMs, maxMs } = this;
    const { database, location } = this.home;
    this.#sql ??= shownSql(this.text);
    return { database, location, sql: this.#sql, role, calls, errors, rows, totalMs, maxMs };
  }
}

/**
 * The statements of one worker that took the most time. When the list is full, the one that took the least leaves it for
 * a new one, so that many different statements displace each other and not those that matter. A kept plan goes on counting a
 * statement that has left, which returns with its counts when it runs again.
 */
export class KnownStatements {
  readonly #homes = new Map<string, Home>();
  readonly #listed: StatementRuns[] = [];
  #left = 0;
  #calls = 0;
  #totalMs = 0;

  /** The statements of a location, in whichever configuration. */
  at(database: string, location: string): RunsOf {
    const key = JSON.stringify([database, location]);
    const home = this.#homes.get(key) ?? { database, location, listed: new Map<string, StatementRuns>() };
    this.#homes.set(key, home);
    return (text, role) => {
      const kept = text.length > LONGEST_TEXT ? beginningOf(text) : text;
      const known = home.listed.get(kept);
      if (!known) return new StatementRuns(this, home, { text: kept, role });
      if (known.role !== role) known.role = undefined;
      return known;
    };
  }

  /** Counts a run of any statement. */
  count(ms: number): void {
    this.#calls += 1;
    this.#totalMs += ms;
  }

  /** Lists a statement. */
  list(runs: StatementRuns): void {
    const { listed } = runs.home;
    const known = listed.get(runs.text);
    if (known) return known.absorb(runs);
    this.#listed[this.#room()] = runs;
    runs.isListed = true;
    listed.set(runs.text, runs);
  }

  read(): StatementList {
    let [calls, totalMs] = [this.#calls, this.#totalMs];
    const statements = this.#listed.map((runs) => runs.view());
    for (const one of statements) {
      calls -= one.calls;
      totalMs -= one.totalMs;
    }
    // Sums of fractions are not exact.
    return { statements, left: { statements: this.#left, calls, totalMs: Math.max(0, totalMs) } };
  }

  /** Returns the index of a free place in the list, which the statement that took the least time has left. */
  #room(): number {
    let least = this.#listed[0];
    if (!least || this.#listed.length < MOST_STATEMENTS) return this.#listed.length;
    let at = 0;
    // Indexes, because a flood of different statements comes here with each request.
    for (let i = 1; i < MOST_STATEMENTS; i += 1) {
      const runs = this.#listed[i] as StatementRuns;
      if (runs.totalMs < least.totalMs) [least, at] = [runs, i];
    }
    least.isListed = false;
    least.home.listed.delete(least.text);
    this.#left += 1;
    return at;
  }
}

/** A part of a string keeps the whole in memory, a new string does not. */
function beginningOf(text: string): string {
  return Buffer.from(text.slice(0, LONGEST_TEXT)).toString();
}
