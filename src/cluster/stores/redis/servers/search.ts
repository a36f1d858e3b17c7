import { type Endpoint, redisLabel } from '../../../../redis/index.ts';
import { StoreLost } from '../../store.ts';

const SHORTEST_MS = 100;
const LONGEST_MS = 5_000;

/**
 * Returns the pause before an attempt (from 1) after one that took `tookMs`. The first attempt comes at once; then
 * pauses grow to 5 s. Their length is random, since many gateways lose the store at the same moment.
 */
export function pauseMs(attempt: number, tookMs = 0): number {
  if (attempt <= 1) return 0;
  const most = Math.min(SHORTEST_MS * 2 ** (attempt - 1), LONGEST_MS);
  return Math.max(SHORTEST_MS, SHORTEST_MS + Math.random() * (most - SHORTEST_MS) - tookMs);
}

/** Looks for something again and again, at growing intervals, until what was found suffices. */
export class Search {
  readonly #look: (signal: AbortSignal) => Promise<void>;
  readonly #ending = new AbortController();
  #attempt = 0;
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;
  #isWanted = false;

  /** `look` must not reject. */
  constructor(look: (signal: AbortSignal) => Promise<void>) {
    this.#look = look;
  }

  /** Looks again, after a pause. */
  again(): void {
    if (this.#ending.signal.aborted) return;
    if (this.#isLooking) this.#isWanted = true;
    else this.#timer ??= setTimeout(this.#run, pauseMs(++this.#attempt));
  }

  /** Looks at once, since there is something new to find. */
  now(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#attempt = 0;
    this.again();
  }

  /** Stops looking: what was found suffices. */
  end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#attempt = 0;
  }

  close(): void {
    this.end();
    this.#ending.abort();
  }

  readonly #run = (): void => {
    this.#timer = undefined;
    this.#isLooking = true;
    void this.#look(this.#ending.signal).then(() => {
      this.#isLooking = false;
      const isWanted = this.#isWanted;
      this.#isWanted = false;
      if (isWanted) this.again();
    });
  };
}

/** A connection to a server that is asked for a value. `told` rejects if the server cannot give it. */
interface AskedServer<T> {
  readonly told: Promise<T>;
  close(): void;
}

/** The value that a server has given, and the connection to that server, which stays open. */
interface Told<T, Connection> {
  readonly value: T;
  readonly connection: Connection;
  readonly server: Endpoint;
}

/** Asks one server after the other until one gives a value. Rejects with `StoreLost` if none does. */
export async function askInTurn<T, Connection extends AskedServer<T>>(
  servers: readonly Endpoint[],
  open: (server: Endpoint) => Connection & AskedServer<T>,
  signal: AbortSignal,
): Promise<Told<T, Connection>> {
  let reason = 'there is no server to ask';
  for (const server of servers) {
    if (signal.aborted) break;
    const connection = open(server);
    const end = (): void => connection.close();
    signal.addEventListener('abort', end);
    try {
      return { value: await connection.told, connection, server };
    } catch (error) {
      connection.close();
      reason = `${redisLabel(server)}: ${(error as Error).message}`;
    } finally {
      signal.removeEventListener('abort', end);
    }
  }
  throw new StoreLost(reason);
}
