import { beginSpan, type Exchange } from '../../../http/index.ts';
import type { Identity } from '../auth/index.ts';
import type { Estimation, RestDatabase } from '../database/index.ts';
import type { DbrestConfig } from '../directives/index.ts';
import { invalidItem, tooLargeResponses } from '../fault/index.ts';
import type { PreparedPlan } from '../plan-cache/index.ts';
import { NO_PREFERENCES } from '../request/index.ts';
import { asPreferred, type OpenResponse } from '../response/index.ts';
import {
  type Column,
  type Results,
  type Row,
  type RowSink,
  runSteps,
  type RunStep,
} from '../session/index.ts';
import type { RunsOf } from '../statement-runs.ts';
import { type RunPlan, type Statements, transactionEnds, type WithinTransaction } from '../sql/index.ts';
import { type ItemResponse, responsesJson } from './items.ts';

/** A request of a batch, planned. */
export interface PlannedItem extends ItemResponse, PreparedPlan {}

/** The item that an error belongs to. */
export interface Progress {
  item: number | undefined;
}

/** The steps of a request that a transaction takes for each of its items. */
export interface TransactionSteps {
  readonly database: Pick<RestDatabase, 'read' | 'write'>;
  /** Writes the statements of one request among those of a transaction. */
  readonly statementsOf: (
    x: Exchange,
    identity: Identity,
    prepared: PreparedPlan & { readonly within: WithinTransaction },
  ) => Statements;
  readonly responseOf: (x: Exchange, plan: RunPlan, statements: Statements) => OpenResponse;
  /** Returns statements that decide whether a request may run, if its cost is not known. Throws if it may not. */
  readonly estimationOf: (plan: RunPlan, statements: Statements) => Estimation | undefined;
  readonly runsOf: RunsOf | undefined;
  /** The comment of a request's statements, if they have one. */
  readonly commentOf: ((x: Exchange, spanId?: string) => string) | undefined;
  /** The limits of statements. */
  readonly rulesOf: (statements: Statements) => DbrestConfig;
  /** Removes all that plans may have written from the caches before the promise resolves. */
  readonly purging: (plans: readonly RunPlan[], run: () => Promise<Results>) => Promise<Results>;
}

interface TransactionContext {
  readonly x: Exchange;
  readonly identity: Identity;
  readonly steps: TransactionSteps;
  /** It is rolled back at its end. */
  readonly isUndone: boolean;
  readonly mostBytes: number;
  readonly progress: Progress;
}

/** An item and the range of its results among those of the transaction. */
interface OpenItem extends PlannedItem {
  readonly statements: Statements;
  readonly opened: OpenResponse;
  readonly sink: ItemSink | undefined;
  readonly from: number;
  readonly steps: readonly RunStep[];
}

/**
 * Runs planned requests in one transaction and resolves to their responses as JSON. They are made before the commit: a
 * fault of one of them rolls all back. Requests that only read go in one round trip.
 */
export async function runTransaction(
  planned: readonly PlannedItem[],
  context: TransactionContext,
): Promise<readonly Buffer[]> {
  const { x, steps, isUndone, mostBytes, progress } = context;
  const readOnly = planned.every(({ work }) => work.readOnly);
  const held = !readOnly && !isUndone;
  const { opening, ending } = transactionEnds({ isUndone, held });
  const client = new BatchClient(x, mostBytes);
  const span = beginSpan(x, 'query', 'client')
    ?.set('db.system', 'postgresql')
    .set('db.operation.name', 'batch');
  const items = openItems(planned, { context, client, readOnly, first: opening.length, spanId: span?.id });
  let pieces: readonly Buffer[] | undefined;
  const finish = (results: Results): void => {
    pieces ??= responsesOf(items, { results, mostBytes, progress });
  };
  const order = orderOf(items, context, client);
  const all = [...opening, ...items.flatMap((item) => item.steps), ...ending];
  const plans = planned.map(({ plan }) => plan);
  const isRepeatable = items.every(({ statements }) => statements.repeatable);
  const run = (): Promise<Results> =>
    isRepeatable
      ? steps.database.read(all, order)
      : steps.database.write(all, { ...order, verdict: held ? finish : undefined });
  const results = await steps.purging(plans, run).catch((error: unknown) => {
    span?.end(true);
    throw asPreferred(error, plans[progress.item ?? -1]?.preferences ?? NO_PREFERENCES);
  });
  span?.end();
  finish(results);
  return pieces ?? [];
}

/** What a batch counts as: its statements are sent together, so that the time of each is not known. */
const BATCH = 'batch';

type BatchOrder = Parameters<RestDatabase['read']>[1];

/** How the database runs the statements of all items. */
function orderOf(items: readonly OpenItem[], context: TransactionContext, client: BatchClient): BatchOrder {
  const { steps, progress, identity } = context;
  return {
    client,
    rules: items.map(({ statements }) => steps.rulesOf(statements)).reduce(longer),
    leaves: items.every(({ statements }) => statements.leaves === 'nothing')
      ? ('nothing' as const)
      : undefined,
    isolation: items.map(({ statements }) => statements.isolation).find(Boolean),
    timeZones: items.flatMap(({ statements: { timeZone } }) => timeZone ?? []),
    estimation: estimationOfAll(items, context),
    runs: steps.runsOf?.(BATCH, identity.role),
    failed: (step: number | undefined) => {
      if (step !== undefined) progress.item = itemAt(items, step);
    },
  };
}

/** Returns the configuration with the longer timeout: a function may have more time than its location. */
function longer(one: DbrestConfig, other: DbrestConfig): DbrestConfig {
  return other.timeoutMs > one.timeoutMs ? other : one;
}

interface Opening {
  readonly context: TransactionContext;
  readonly client: BatchClient;
  readonly readOnly: boolean;
  /** The number of steps before those of the first item. */
  readonly first: number;
  /** The span of the transaction, if it has one. */
  readonly spanId: string | undefined;
}

function openItems(
  planned: readonly PlannedItem[],
  { context: { identity, steps, progress }, client, readOnly, first, spanId }: Opening,
): readonly OpenItem[] {
  let from = first;
  let hasZone = false;
  return planned.map((item, i) => {
    progress.item = i;
    const { x, plan } = item;
    // PostgreSQL cannot make a part of a transaction read-only.
    if (!readOnly && mayWriteByReading(plan))
      throw invalidItem('beside items that write, a volatile function is called by POST', i);
    const within = { readOnly, clearsTimeZone: hasZone };
    const statements = steps.statementsOf(x, identity, { ...item, within });
    hasZone ||= plan.preferences.timeZone !== undefined;
    const opened = steps.responseOf(x, plan, statements);
    const sink = opened.sink && new ItemSink(opened.sink, from, client);
    const own = runSteps(statements, sink, steps.commentOf?.(x, spanId));
    const open = { ...item, statements, opened, sink, from, steps: own };
    from += own.length;
    progress.item = undefined;
    return open;
  });
}

/** The statements that decide for all items, in one transaction before theirs. */
function estimationOfAll(
  items: readonly OpenItem[],
  { steps, progress }: TransactionContext,
): Estimation | undefined {
  const estimations = items.flatMap(({ plan, statements }, i) => {
    progress.item = i;
    const estimation = steps.estimationOf(plan, statements);
    return estimation ? [{ ...estimation, item: i }] : [];
  });
  progress.item = undefined;
  if (estimations.length === 0) return undefined;
  return {
    steps: estimations.flatMap((estimation) => estimation.steps),
    judge(results) {
      let from = 0;
      for (const { steps: own, judge, item } of estimations) {
        progress.item = item;
        judge(results.slice(from, from + own.length));
        from += own.length;
      }
      progress.item = undefined;
    },
  };
}

function mayWriteByReading(plan: RunPlan): boolean {
  return (
    plan.kind === 'call' && plan.request.head.method !== 'POST' && plan.call.called.volatility === 'volatile'
  );
}

function itemAt(items: readonly OpenItem[], step: number): number | undefined {
  const found = items.findIndex(({ from, steps }) => step >= from && step < from + steps.length);
  return found < 0 ? undefined : found;
}

/** Ends the response of each item; throws the first fault. */
function responsesOf(
  items: readonly OpenItem[],
  {
    results,
    mostBytes,
    progress,
  }: { readonly results: Results; readonly mostBytes: number; readonly progress: Progress },
): readonly Buffer[] {
  for (const [i, { opened, from, sink }] of items.entries()) {
    progress.item = i;
    const own = results.slice(from);
    sink?.complete(own);
    opened.verdict?.(own);
    // Its sink has all rows and its stream is memory, so the response is complete when this returns.
    void opened.end(own);
  }
  progress.item = undefined;
  const pieces = responsesJson(items);
  const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
  if (bytes > mostBytes) throw tooLargeResponses(mostBytes);
  return pieces;
}

/** The client of a batch, which is given up when its responses grow too large. */
class BatchClient {
  readonly #x: Exchange;
  readonly #mostBytes: number;
  readonly #cancels: (() => void)[] = [];
  #characters = 0;

  constructor(x: Exchange, mostBytes: number) {
    this.#x = x;
    this.#mostBytes = mostBytes;
  }

  /** The request that the batch is a part of. */
  get main(): Exchange {
    return this.#x.main;
  }

  get aborted(): boolean {
    return this.#x.aborted;
  }

  get done(): boolean {
    return this.#x.done;
  }

  onAbort(listener: () => void): void {
    this.#x.onAbort(listener);
    this.#cancels.push(listener);
  }

  /** Counts characters that are received, or received again. Cancels the batch and throws if they are too many. */
  take(characters: number): void {
    this.#characters += characters;
    if (this.#characters <= this.#mostBytes) return;
    for (const cancel of this.#cancels) cancel();
    throw tooLargeResponses(this.#mostBytes);
  }
}

/** Passes on the rows of one item. Its results begin at `from`. */
class ItemSink implements RowSink {
  readonly restarts = true;
  readonly #sink: RowSink;
  readonly #from: number;
  readonly #client: BatchClient;
  readonly #results: (Row | undefined)[] = [];
  #characters = 0;

  constructor(sink: RowSink, from: number, client: BatchClient) {
    this.#sink = sink;
    this.#from = from;
    this.#client = client;
  }

  begin(results: Results): void {
    this.#client.take(-this.#characters);
    this.#characters = 0;
    this.complete(results.slice(this.#from));
    this.#sink.begin(this.#results);
  }

  /** Adds the results that came behind the rows. */
  complete(results: Results): void {
    this.#results.splice(0, this.#results.length, ...results);
  }

  columns(columns: readonly Column[]): void {
    this.#sink.columns(columns);
  }

  row(fields: Row): Promise<void> | undefined {
    let characters = 0;
    for (const field of fields) characters += field?.length ?? 0;
    this.#characters += characters;
    this.#client.take(characters);
    return this.#sink.row(fields);
  }
}
