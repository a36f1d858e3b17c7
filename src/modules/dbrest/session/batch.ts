import { hash, randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { WireClient, WireError } from '../../../postgres/index.ts';
import type { Step } from '../sql/index.ts';
import { lostStatements, mayHaveOldTypes } from './failures.ts';
import { type Fields, fieldsOf, type Messages } from './messages.ts';

/** A row; every column is a text. */
export type Row = readonly (string | null)[];

/** A column of a result. */
export interface Column {
  readonly name: string;
  /** Object id of its type. */
  readonly dataTypeID: number;
}

interface Prepared {
  readonly text: string;
  readonly name: string;
  /** ParseComplete has come. */
  isParsed: boolean;
}

/** The name of a statement, and whether it has to be parsed first. */
interface UsedName {
  readonly name: string;
  readonly parse: boolean;
}

interface NamesOptions {
  /** How many statements are kept. */
  readonly statements: number;
  /** How long their texts may be together. */
  readonly characters: number;
  /** Each batch may run in another session of the server, which knows other statements. */
  readonly isPooled?: boolean;
}

/**
 * The prepared statements of one session, as an LRU cache. A statement counts as prepared only after ParseComplete: after
 * an error the server skips the rest of a batch. Names are digests of the text, the epoch and a random part of the session: a
 * pooler may give the session to others, and whatever has this name there must be this statement.
 */
export class StatementNames {
  readonly #byText: LRUCache<string, Prepared>;
  /** Sent Parse messages, in the order of their ParseComplete; `undefined` marks the end of a batch. */
  readonly #parsing: (Prepared | undefined)[] = [];
  /** Evicted names that have to be closed on the server. */
  readonly #forgotten = new Set<string>();
  readonly #salt = randomBytes(16).toString('base64url');
  readonly #isPooled: boolean;
  #epoch = 0;

  constructor({ statements, characters, isPooled = false }: NamesOptions) {
    this.#isPooled = isPooled;
    this.#byText = new LRUCache({
      max: statements,
      maxSize: characters,
      // A text that is longer than all may be has the room to itself: whatever is prepared has to be closed by name.
      sizeCalculation: (_prepared, text) => Math.max(1, Math.min(text.length, characters)),
      dispose: ({ name }, _text, reason) => reason === 'evict' && this.#forgotten.add(name),
    });
  }

  /** The name for a statement of a batch, which counts on the batches before it to parse what they were told to. */
  use(text: string): UsedName {
    const known = this.#byText.get(text);
    return known ? { name: known.name, parse: false } : this.#parse(text);
  }

  /** The name for a statement that must not fail because a batch before it did. */
  useParsed(text: string): UsedName {
    const known = this.#byText.get(text);
    return known?.isParsed && !this.#isPooled ? { name: known.name, parse: false } : this.#parse(text);
  }

  /** A statement that is parsed for one use. It has no name, which stands for the last such statement. */
  useOnce(text: string): UsedName {
    this.#parsing.push({ text, name: '', isParsed: false });
    return ONCE;
  }

  /** The names to close on the server, which are forgotten by that. */
  evicted(): readonly string[] {
    if (this.#forgotten.size === 0) return NONE;
    const names = [...this.#forgotten];
    this.#forgotten.clear();
    return names;
  }

  /** Batches use statements of this epoch from now on; those of an earlier one are forgotten. */
  enter(epoch: number): void {
    if (epoch <= this.#epoch) return;
    this.#epoch = epoch;
    this.forget();
  }

  /** Forgets all statements, which are closed, or those that were found missing or outdated: each is parsed again. */
  forget(found?: Iterable<string>): void {
    for (const text of found ?? [...this.#byText.keys()]) {
      const known = this.#byText.peek(text);
      if (known && !found) this.#forgotten.add(known.name);
      this.#byText.delete(text);
    }
  }

  parseComplete(): void {
    const prepared = this.#parsing.shift();
    if (prepared) prepared.isParsed = true;
  }

  /** All statements of a batch have been used. */
  batchSent(): void {
    this.#parsing.push(undefined);
  }

  /** The oldest batch has ended; its statements without ParseComplete were not parsed. */
  batchEnded(): void {
    while (this.#parsing.length > 0) {
      const prepared = this.#parsing.shift();
      if (!prepared) return;
      if (this.#byText.peek(prepared.text) === prepared) this.#byText.delete(prepared.text);
    }
  }

  #parse(text: string): UsedName {
    const digest = hash('sha256', `${this.#salt}${this.#epoch} ${text}`, 'base64url').slice(
      0,
      DIGEST_CHARACTERS,
    );
    const prepared = { text, name: `gw${digest}`, isParsed: false };
    this.#byText.set(text, prepared);
    this.#forgotten.delete(prepared.name);
    this.#parsing.push(prepared);
    return { name: prepared.name, parse: true };
  }
}

const NONE: readonly string[] = [];
const ONCE: UsedName = { name: '', parse: true };
/** 96 bits. Each request sends the names of its statements. */
const DIGEST_CHARACTERS = 16;

/** Receives the rows of a statement one by one. An exception fails the batch. */
export interface RowSink {
  /** `begin` may be called again: nothing of the rows has been passed on. */
  readonly restarts?: boolean;
  /** Called first, with the results of the statements before. */
  begin(results: Results): void;
  /** Called only for a `described` statement. */
  columns(columns: readonly Column[]): void;
  /** May return a promise: then no more rows are read until it resolves, apart from those already received. */
  row(fields: Row): Promise<void> | undefined;
}

/** A statement and the sink of its rows. */
export interface RunStep extends Step {
  readonly sink?: RowSink;
}

/** The statements of a request, of which the main one has rows for a sink. */
interface RequestSteps {
  readonly before: readonly Step[];
  readonly main: Step;
  readonly after: readonly Step[];
}

/** The steps of a request in their order. `sink`: where the rows of its main statement go. */
export function runSteps(
  { before, main, after }: RequestSteps,
  sink: RowSink | undefined,
): readonly RunStep[] {
  return [...before, sink ? { ...main, sink } : main, ...after];
}

/** The last row of each statement without a sink. */
export type Results = readonly (Row | undefined)[];

/** The parts of a batch. */
interface BatchParts {
  readonly steps: readonly RunStep[];
  /** Statements before the steps; their results are discarded. */
  readonly lead?: readonly RunStep[];
  /** The connection's stream, which is paused while a sink is full. */
  readonly stream: WireClient['connection']['stream'];
  /** With more characters than this the sinks get no more rows, and the batch is `outgrown`. */
  readonly most?: number | undefined;
  /** Whether statements are prepared; otherwise they are parsed each time. */
  readonly prepares: boolean;
}

/**
 * Statements that are sent at once with a single Sync, so that PostgreSQL runs them as one implicit transaction. The
 * session passes it the messages of the server, and decides when it has ended.
 */
export class Batch {
  readonly results: (Row | undefined)[] = [];
  error: Error | undefined;
  /** The index of the step that failed, if one did. */
  failedStep: number | undefined;
  /** A sink that cannot begin again has received something. */
  hasBegun = false;
  /** Characters of the rows for sinks. */
  characters = 0;
  readonly steps: readonly RunStep[];
  readonly #lead: readonly RunStep[];
  readonly #stream: WireClient['connection']['stream'];
  readonly #most: number;
  readonly #prepares: boolean;
  /** Number of completed steps; negative during the lead. */
  #completed: number;
  /** Number of steps whose values are bound, which have begun to run; it counts as `#completed` does. */
  #bound: number;
  /** Whether each statement, those of the lead included, was parsed by this batch. */
  #isParsed: readonly boolean[] = [];
  #begun = false;
  #hasEnded = false;
  #pausedAtMs: number | undefined;

  constructor({ steps, lead = [], stream, most = Infinity, prepares }: BatchParts) {
    this.steps = steps;
    this.#lead = lead;
    this.#completed = -lead.length;
    this.#bound = -lead.length;
    this.#stream = stream;
    this.#most = most;
    this.#prepares = prepares;
  }

  /** The texts of all statements. */
  get texts(): readonly string[] {
    return this.#all.map(({ statement }) => statement.text);
  }

  get #all(): readonly RunStep[] {
    return this.#lead.length > 0 ? [...this.#lead, ...this.steps] : this.steps;
  }

  /** How long a sink has kept the server waiting. */
  get stalledMs(): number {
    return this.#pausedAtMs === undefined ? 0 : performance.now() - this.#pausedAtMs;
  }

  /** The sinks have not received all rows. */
  get outgrown(): boolean {
    return this.characters > this.#most;
  }

  /** Adds the messages of the batch: all of them, or none if it throws. */
  write(messages: Messages, names: StatementNames): void {
    const steps = this.#all;
    // Before anything is added: others share the write, and half a batch would run as a part of the next one.
    const fields = steps.map(({ statement }) => fieldsOf(statement.values));
    // Close comes first: after an error the server would skip it. What this batch evicts it may also use.
    for (const name of names.evicted()) messages.close(name);
    const named: UsedName[] = [];
    let isBehindSink = false;
    for (const { statement, sink } of steps) {
      named.push(this.#nameOf(statement.text, names, isBehindSink));
      isBehindSink ||= sink !== undefined && sink.restarts !== true;
    }
    names.batchSent();
    this.#isParsed = named.map(({ parse }) => parse);
    for (let i = 0; i < steps.length; i += 1) {
      const { statement, described } = steps[i] as RunStep;
      const { name, parse } = named[i] as UsedName;
      // Behind a pooler the name may be there from before. What it stands for is the same, but might be outdated.
      if (parse && name !== '') messages.close(name);
      if (parse) messages.parse(name, statement.text);
      messages.bind(name, fields[i] as Fields);
      if (described) messages.describe();
      messages.execute();
    }
    messages.sync();
  }

  /**
   * What has to be prepared anew before the batch can run, if that is why it failed: one statement, or all. An old statement is
   * bound to the types that its parameters had when it was parsed.
   */
  get outdated(): { readonly text?: string } | undefined {
    if (!this.error) return undefined;
    if (lostStatements(this.error)) return {};
    const wasBound = this.#bound !== this.#completed;
    const isParsed = this.#isParsed[this.#completed + this.#lead.length] !== false;
    if (wasBound || isParsed || !mayHaveOldTypes(this.error)) return undefined;
    const text = this.steps[this.#completed]?.statement.text;
    return text === undefined ? undefined : { text };
  }

  bindComplete(): void {
    this.#bound += 1;
  }

  #nameOf(text: string, names: StatementNames, isBehindSink: boolean): UsedName {
    if (!this.#prepares) return names.useOnce(text);
    // Once a sink has rows, the batch cannot be repeated: what follows must not depend on the batches before it.
    return isBehindSink ? names.useParsed(text) : names.use(text);
  }

  rowDescription({ fields }: { readonly fields: readonly Column[] }): void {
    this.#toSink((sink) => sink.columns(fields));
  }

  dataRow({ fields }: { readonly fields: Row }): void {
    if (this.#completed < 0) return;
    if (!this.steps[this.#completed]?.sink) {
      this.results[this.#completed] = fields;
      return;
    }
    for (const field of fields) if (field !== null) this.characters += field.length;
    this.#toSink((sink) => this.#pauseFor(sink.row(fields)));
  }

  /** `text` is a command tag: `INSERT 0 3`, `UPDATE 3`. */
  commandComplete({ text }: { readonly text: string }): void {
    this.#toSink(() => undefined);
    if (this.steps[this.#completed]?.tally) this.results[this.#completed] = [text.replace(/^.* /, '')];
    this.#completed += 1;
    this.#begun = false;
  }

  /** The server skips the rest of the batch. */
  failed(error: WireError): void {
    this.#fail(error);
  }

  /** All results have arrived: a sink that is still full must not keep the connection from the batches behind. */
  end(): void {
    this.#hasEnded = true;
    this.#resume();
  }

  /** Calls the sink of the current statement unless it has failed. Its exceptions must not reach the socket. */
  #toSink(say: (sink: RowSink) => void): void {
    const sink = this.steps[this.#completed]?.sink;
    if (!sink || this.error || this.outgrown) return;
    try {
      if (!this.#begun) sink.begin(this.results);
      this.#begun = true;
      this.hasBegun ||= sink.restarts !== true;
      say(sink);
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  #fail(error: Error): void {
    this.failedStep ??= this.error ? undefined : this.#completed;
    this.error ??= error;
  }

  /** Pauses the socket, which makes the server wait. */
  #pauseFor(ready: Promise<void> | undefined): void {
    if (!ready) return;
    this.#stream.pause();
    this.#pausedAtMs ??= performance.now();
    void ready.then(() => {
      // Another batch may have paused the socket since.
      if (!this.#hasEnded) this.#resume();
    });
  }

  #resume(): void {
    if (this.#pausedAtMs === undefined) return;
    this.#pausedAtMs = undefined;
    this.#stream.resume();
  }
}
