import { LRUCache } from 'lru-cache';
import type { Connection, Submittable } from 'pg';
import type { Step } from '../sql/index.ts';
import type { Column, Row, WireError } from './connection.ts';
import { Messages } from './messages.ts';

interface Prepared {
  readonly text: string;
  readonly name: string;
}

/**
 * Which statements one session has prepared; the least recently used are closed. A statement counts only once the
 * server said ParseComplete: what stands behind an error in a batch was never parsed.
 */
export class StatementNames {
  readonly #byText: LRUCache<string, Prepared>;
  /** Parse messages under way, in the order in which ParseComplete will come. */
  readonly #parsing: Prepared[] = [];
  /** Forgotten, and still to be closed on the server. */
  #forgotten: string[] = [];
  #count = 0;

  constructor(limit: number) {
    this.#byText = new LRUCache({
      max: limit,
      dispose: ({ name }, _text, reason) => reason === 'evict' && this.#forgotten.push(name),
    });
  }

  /** The name for a text; `parse` is true when it must be sent first. */
  use(text: string): { readonly name: string; readonly parse: boolean } {
    const known = this.#byText.get(text);
    if (known) return { name: known.name, parse: false };
    const prepared = { text, name: `gw${(this.#count += 1)}` };
    this.#byText.set(text, prepared);
    this.#parsing.push(prepared);
    return { name: prepared.name, parse: true };
  }

  /** A name to be closed on the server, whose statement was forgotten. */
  evict(): string | undefined {
    return this.#forgotten.pop();
  }

  /** Forgets all: each is parsed again under a new name. */
  forget(): void {
    for (const { name } of this.#byText.values()) this.#forgotten.push(name);
    this.#byText.clear();
  }

  parseComplete(): void {
    this.#parsing.shift();
  }

  /** The batch is over: what was not parsed by now never was. */
  batchEnded(): void {
    for (const prepared of this.#parsing.splice(0)) this.#byText.delete(prepared.text);
  }
}

/** Takes the rows of a statement one by one, instead of the last one at the end. What it throws fails the batch. */
export interface RowSink {
  /** Before anything else, with what the statements in front gave. */
  begin(results: Results): void;
  /** Only of a statement that is `described`. */
  columns(columns: readonly Column[]): void;
  /** A promise: no more rows are read until it resolves (those that were read already still come). */
  row(fields: Row): Promise<void> | undefined;
}

/** A statement, and who takes its rows. */
export interface RunStep extends Step {
  readonly sink?: RowSink;
}

/** The last row of each statement that has no sink. */
export type Results = readonly (Row | undefined)[];

/**
 * Statements in one flush with one Sync: PostgreSQL runs them as one implicit transaction. pg calls the `handle…`
 * members (its public `submit` interface, as pg-cursor uses it); the session decides when the batch is over.
 */
export class Batch implements Submittable {
  readonly results: (Row | undefined)[] = [];
  error: Error | undefined;
  /** A sink was given something: it cannot be given it again. */
  hasBegun = false;
  readonly steps: readonly RunStep[];
  /** Runs in front of the steps; nobody is told of it. */
  readonly lead: readonly RunStep[];
  readonly #names: StatementNames;
  #stream: Connection['stream'] | undefined;
  /** How many steps are; below 0 in the lead. */
  #completed: number;
  #begun = false;
  #pausedAtMs: number | undefined;

  constructor(steps: readonly RunStep[], names: StatementNames, lead: readonly RunStep[] = []) {
    this.steps = steps;
    this.lead = lead;
    this.#completed = -lead.length;
    this.#names = names;
  }

  /** How long a sink has been keeping the server waiting by now. */
  get stalledMs(): number {
    return this.#pausedAtMs === undefined ? 0 : performance.now() - this.#pausedAtMs;
  }

  submit(connection: Connection): void {
    this.#stream = connection.stream;
    const messages = new Messages();
    const steps = this.lead.length > 0 ? [...this.lead, ...this.steps] : this.steps;
    const named = steps.map(({ statement }) => this.#names.use(statement.text));
    // First, where no error can make the server skip it: a skipped Close would leave the statement there for good.
    for (let name = this.#names.evict(); name !== undefined; name = this.#names.evict()) messages.close(name);
    steps.forEach(({ statement: { text, values }, described }, i) => {
      const { name, parse } = named[i] as (typeof named)[0];
      if (parse) messages.parse(name, text);
      messages.bind(name, values);
      if (described) messages.describe();
      messages.execute();
    });
    messages.sync();
    messages.sendTo(connection.stream);
  }

  handleRowDescription({ fields }: { readonly fields: readonly Column[] }): void {
    this.#toSink((sink) => sink.columns(fields));
  }

  handleDataRow({ fields }: { readonly fields: Row }): void {
    if (this.#completed < 0) return;
    if (!this.steps[this.#completed]?.sink) this.results[this.#completed] = fields;
    else this.#toSink((sink) => this.#pauseFor(sink.row(fields)));
  }

  /** `text`: `INSERT 0 3`, `UPDATE 3`. */
  handleCommandComplete({ text }: { readonly text: string }): void {
    this.#toSink(() => undefined);
    if (this.steps[this.#completed]?.tally) this.results[this.#completed] = [text.replace(/^.* /, '')];
    this.#completed += 1;
    this.#begun = false;
  }

  /** Of the server only; what pg says of a lost connection reaches the session by itself, and earlier. */
  handleError(error: WireError): void {
    if ('severity' in error) this.error ??= error;
  }

  handleReadyForQuery(): void {}
  handleEmptyQuery(): void {}
  handlePortalSuspended(): void {}
  handleCopyData(): void {}
  handleCopyInResponse(): void {}

  /** The sink of the statement under way, unless it failed before: what it throws must not reach the socket. */
  #toSink(say: (sink: RowSink) => void): void {
    const sink = this.steps[this.#completed]?.sink;
    if (!sink || this.error) return;
    try {
      if (!this.#begun) sink.begin(this.results);
      this.#begun = true;
      this.hasBegun = true;
      say(sink);
    } catch (error) {
      this.error = error as Error;
    }
  }

  /** An unread socket is what makes the server wait. */
  #pauseFor(ready: Promise<void> | undefined): void {
    if (!ready) return;
    this.#stream?.pause();
    this.#pausedAtMs ??= performance.now();
    void ready.then(() => {
      this.#pausedAtMs = undefined;
      this.#stream?.resume();
    });
  }
}
