import { LRUCache } from 'lru-cache';
import type { Pool } from '../../../postgres/index.ts';
import type { Cost, Session } from '../session/index.ts';

/** The costs of this many statements are known, as long as their texts are not longer than this together. */
const MOST_STATEMENTS = 2_000;
const MOST_TEXT = 4 * 1024 * 1024;
/** The weight of the last run in the moving averages. */
const WEIGHT = 0.3;
/** A statement is run alone so often before its costs count: the first time, the server plans it. */
const FIRST_RUNS = 2;
/** Bounds of the longest turn of a statement that may share a session, and of the longest backlog that others join. */
const SHORT_MS = { least: 5, most: 20, floors: 16 } as const;
const BACKLOG_MS = { least: 3, most: 20, floors: 8 } as const;
/** Largest result of a statement that may share a session. */
export const MOST_CHARACTERS = 131_072;

interface StatementCost {
  runs: number;
  turnMs: number;
  characters: number;
}

/**
 * The costs of statements, as moving averages by their text. Which ones are short depends on the machine: where
 * processors are scarce, the shortest statement takes milliseconds, and sharing sessions helps most.
 */
export class Costs {
  /** The turn of the shortest statements, which follows shorter turns fast and longer ones slowly. */
  #floorMs = 0;
  readonly #known = new LRUCache<string, StatementCost>({
    max: MOST_STATEMENTS,
    maxSize: MOST_TEXT,
    sizeCalculation: (_known, text) => Math.max(1, text.length),
  });

  /** The usual turn of a statement that is known to be short and small, in milliseconds. */
  shortTurnMs(text: string): number | undefined {
    const known = this.#known.get(text);
    if (!known || known.runs < FIRST_RUNS) return undefined;
    return known.turnMs <= this.#times(SHORT_MS) && known.characters <= MOST_CHARACTERS / 2
      ? known.turnMs
      : undefined;
  }

  /** With a longer backlog, a request takes an idle session instead of joining others. */
  get longestBacklogMs(): number {
    return this.#times(BACKLOG_MS);
  }

  #times({
    least,
    most,
    floors,
  }: {
    readonly least: number;
    readonly most: number;
    readonly floors: number;
  }): number {
    return Math.min(most, Math.max(least, floors * this.#floorMs));
  }

  note(text: string, { turnMs, characters }: Cost): void {
    this.#floorMs += (turnMs - this.#floorMs) * (turnMs < this.#floorMs ? WEIGHT : WEIGHT / 30);
    const known = this.#known.get(text);
    if (!known) {
      this.#known.set(text, { runs: 1, turnMs, characters });
      return;
    }
    // The run before the first that counts is forgotten.
    const weight = known.runs < FIRST_RUNS ? 1 : WEIGHT;
    known.runs += 1;
    known.turnMs += (turnMs - known.turnMs) * weight;
    known.characters += (characters - known.characters) * weight;
  }

  /** A batch with this statement was displaced: until it has run a few times alone, it shares no session. */
  forget(text: string): void {
    this.#known.delete(text);
  }
}

/** A session that several requests use at a time. */
interface SharedSession {
  readonly session: Session;
  users: number;
  /** The usual turns of its batches, in milliseconds. */
  backlogMs: number;
  /** It goes back to the pool when its users have gone. */
  isClosing: boolean;
}

const CHECK_MS = 10;

/**
 * The sessions that requests with short statements share. They are taken from the pool and given back as soon as no
 * request uses them. Few sessions with several batches each are faster than one batch at a time in many: batches of one
 * turn of the event loop share a write, and the processes of the server switch less often.
 */
export class SharedSessions {
  readonly #pool: Pool<Session>;
  readonly #costs: Costs;
  readonly #sessions: SharedSession[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(pool: Pool<Session>, costs: Costs) {
    this.#pool = pool;
    this.#costs = costs;
  }

  /** Returns a session that can take another batch without delay, and counts the caller as a user. */
  join(turnMs: number, most: number): SharedSession | undefined {
    if (this.#pool.waiting > 0) this.#closeOne();
    const { longestBacklogMs } = this.#costs;
    let best: SharedSession | undefined;
    for (const shared of this.#sessions) {
      if (shared.isClosing || shared.session.length >= most || !shared.session.isOpen) continue;
      if (shared.backlogMs + turnMs <= longestBacklogMs) return use(shared, turnMs);
      if (!best || shared.backlogMs < best.backlogMs) best = shared;
    }
    if (!best || this.#pool.idle > 0) return undefined;
    this.#pool.grow();
    return use(best, turnMs);
  }

  /** Shares a session of the pool; the caller is its first user. */
  add(session: Session, turnMs: number): SharedSession {
    const shared = { session, users: 0, backlogMs: 0, isClosing: false };
    this.#sessions.push(shared);
    this.#timer ??= setInterval(() => this.#check(), CHECK_MS).unref();
    return use(shared, turnMs);
  }

  leave(shared: SharedSession, turnMs: number): void {
    shared.users -= 1;
    shared.backlogMs -= turnMs;
    if (shared.users > 0) return;
    this.#sessions.splice(this.#sessions.indexOf(shared), 1);
    this.#pool.release(shared.session, shared.session.isSpent);
  }

  /** Closes the shared sessions for further batches. */
  close(): void {
    for (const shared of this.#sessions) shared.isClosing = true;
  }

  /** A request waits for a session of its own: the one with the fewest users takes no more. */
  #closeOne(): void {
    let least: SharedSession | undefined;
    for (const shared of this.#sessions) {
      if (shared.isClosing) return;
      if (!least || shared.users < least.users) least = shared;
    }
    if (least) least.isClosing = true;
  }

  #check(): void {
    if (this.#sessions.length === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    const nowMs = performance.now();
    for (const shared of this.#sessions) {
      shared.session.check(nowMs);
      // While requests come, it would never go back to the pool.
      if (this.#pool.isAged(shared.session)) shared.isClosing = true;
    }
  }
}

function use(shared: SharedSession, turnMs: number): SharedSession {
  shared.users += 1;
  shared.backlogMs += turnMs;
  return shared;
}

/** A client that reads nothing for this long may lose its session to a waiting request. */
const LONGEST_STALL_MS = 1_000;
const STALL_CHECK_MS = 250;

/**
 * The sessions in use. While requests wait for one, the client that stalls longest loses its session: otherwise a few
 * slow clients could block all others.
 */
export class SlowClients {
  readonly #inUse = new Set<Session>();
  readonly #isAnybodyWaiting: () => boolean;
  #timer: NodeJS.Timeout | undefined;

  constructor(isAnybodyWaiting: () => boolean) {
    this.#isAnybodyWaiting = isAnybodyWaiting;
  }

  begin(session: Session): void {
    this.#inUse.add(session);
  }

  end(session: Session): void {
    this.#inUse.delete(session);
  }

  /** Starts checking, until no request waits any more. */
  watch(): void {
    if (this.#timer || !this.#isAnybodyWaiting()) return;
    this.#timer = setInterval(() => this.#check(), STALL_CHECK_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #check(): void {
    if (!this.#isAnybodyWaiting()) return this.close();
    let slowest: Session | undefined;
    for (const session of this.#inUse) {
      if (session.stalledMs > (slowest?.stalledMs ?? LONGEST_STALL_MS)) slowest = session;
    }
    slowest?.drop('the client does not read its response, and others wait for a connection');
  }
}
