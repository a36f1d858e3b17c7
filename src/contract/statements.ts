import { BroadcastChannel } from 'node:worker_threads';
import type { WorkerScope } from './scope.ts';

/** How often a statement of a database ran, and how long, for status pages. */
export interface StatementView {
  /** As in metrics. */
  readonly database: string;
  /** The text of the location whose requests run it. */
  readonly location: string;
  /** Without values. */
  readonly sql: string;
  /** Absent if several roles have run it. */
  readonly role: string | undefined;
  /** The runs that failed are among them. */
  readonly calls: number;
  readonly errors: number;
  readonly rows: number;
  readonly totalMs: number;
  readonly maxMs: number;
}

/** The statements of one worker, or of all. */
export interface StatementList {
  readonly statements: readonly StatementView[];
  /** Statements that have left the list because it was full, and what their runs took. One may have left several times. */
  readonly left: { readonly statements: number; readonly calls: number; readonly totalMs: number };
}

/** The statements of all workers that have answered in time. */
interface StatementReport extends StatementList {
  readonly answered: number;
}

/** Returns the lists of this worker, through which it also asks the other workers for theirs. */
export function openStatementLists(worker: Pick<WorkerScope, 'share' | 'workerId'>): StatementLists {
  return worker.share(
    'statement lists',
    () => new StatementLists(worker.workerId),
    (opened) => opened.close(),
  );
}

interface Question {
  /** The worker that asks. */
  readonly asks: number;
  readonly id: number;
}

interface Answer {
  readonly id: number;
  readonly from: number;
  readonly list: StatementList;
}

const CHANNEL = 'gw statements';
/** The channel that only the worker that asks listens to, so that an answer wakes no other one. */
const inboxOf = (workerId: number): string => `${CHANNEL} ${workerId}`;
/** A worker that is busy for longer is left out. */
const LATE_MS = 1_000;

/** The statements of one worker. Nothing is sent before some worker asks. */
class StatementLists {
  readonly #workerId: number;
  readonly #channel = new BroadcastChannel(CHANNEL);
  readonly #sources = new Set<() => StatementList>();
  #lastId = 0;
  #report: Promise<StatementReport> | undefined;

  constructor(workerId: number) {
    this.#workerId = workerId;
    this.#channel.onmessage = (event) => this.#answer((event as { data: Question }).data);
    this.#channel.unref();
  }

  /** Adds statements of this worker. Returns the function that removes them. */
  add(source: () => StatementList): () => void {
    this.#sources.add(source);
    return () => void this.#sources.delete(source);
  }

  /** Resolves to the statements of so many workers, the slowest in total first. Those who ask together share a report. */
  all(workers: number): Promise<StatementReport> {
    this.#report ??= this.#ask(workers).finally(() => (this.#report = undefined));
    return this.#report;
  }

  close(): void {
    this.#channel.close();
  }

  async #ask(workers: number): Promise<StatementReport> {
    const lists = [...(await this.#othersLists(workers - 1)), this.#own()];
    return { ...mergedStatements(lists), answered: lists.length };
  }

  #own(): StatementList {
    return mergedStatements(Array.from(this.#sources, (read) => read()));
  }

  #answer({ asks, id }: Question): void {
    const inbox = new BroadcastChannel(inboxOf(asks));
    inbox.postMessage({ id, from: this.#workerId, list: this.#own() } satisfies Answer);
    inbox.close();
  }

  async #othersLists(others: number): Promise<readonly StatementList[]> {
    if (others <= 0) return [];
    const id = (this.#lastId += 1);
    const lists = new Map<number, StatementList>();
    const inbox = new BroadcastChannel(inboxOf(this.#workerId));
    try {
      await new Promise<void>((settle) => {
        // If this thread was busy, answers may have arrived, and are read after the timers.
        const late = setTimeout(() => setImmediate(settle), LATE_MS);
        inbox.onmessage = (event) => {
          const { data } = event as { data: Answer };
          if (data.id === id) lists.set(data.from, data.list);
          if (lists.size < others) return;
          clearTimeout(late);
          settle();
        };
        this.#channel.postMessage({ asks: this.#workerId, id } satisfies Question);
      });
    } finally {
      inbox.close();
    }
    return [...lists.values()];
  }
}

/** Adds lists up. A statement that is shown in the same way in several of them becomes one. */
function mergedStatements(lists: readonly StatementList[]): StatementList {
  const merged = new Map<string, StatementView>();
  for (const view of lists.flatMap(({ statements }) => statements)) {
    const key = JSON.stringify([view.database, view.location, view.sql]);
    const known = merged.get(key);
    merged.set(key, known ? sumOf(known, view) : view);
  }
  const left = lists.reduce((sum, { left: more }) => addLeft(sum, more), NOTHING_LEFT);
  return { statements: [...merged.values()].toSorted((a, b) => b.totalMs - a.totalMs), left };
}

function sumOf(one: StatementView, other: StatementView): StatementView {
  return {
    ...one,
    role: one.role === other.role ? one.role : undefined,
    calls: one.calls + other.calls,
    errors: one.errors + other.errors,
    rows: one.rows + other.rows,
    totalMs: one.totalMs + other.totalMs,
    maxMs: Math.max(one.maxMs, other.maxMs),
  };
}

const NOTHING_LEFT: StatementList['left'] = { statements: 0, calls: 0, totalMs: 0 };

function addLeft(one: StatementList['left'], other: StatementList['left']): StatementList['left'] {
  return {
    statements: one.statements + other.statements,
    calls: one.calls + other.calls,
    totalMs: one.totalMs + other.totalMs,
  };
}
