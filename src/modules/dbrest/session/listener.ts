import type { QueryConfig } from 'pg';
import type { WireClient } from './connection.ts';

const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 5_000;
/** A line that is half open says nothing for ever: only asking finds out. */
const PING_EVERY_MS = 30_000;
const PING_TIMEOUT_MS = 5_000;
const GOODBYE_MS = 1_000;

/** What is told of a listening session. */
export interface Hearing {
  readonly channels: readonly string[];
  heard(payload: string): void;
  /** It listens, for the first time or again: whatever was announced meanwhile was missed. */
  listening(): void;
  /** It does not listen; it will try again. */
  failed(): void;
  /** Because the server is there but does not let anybody listen. */
  refused(error: Error): void;
}

/** Connects, and makes the connection ready; rejects when either fails. */
type Connect = (makeReady: (client: WireClient) => Promise<unknown>) => Promise<{ client: WireClient }>;

/** A session of its own that hears what the database announces (`NOTIFY`), and comes back whenever it breaks. */
export class Listener {
  readonly #connect: Connect;
  readonly #hearing: Hearing;
  #client: WireClient | undefined;
  #timer: NodeJS.Timeout | undefined;
  #delayMs = FIRST_DELAY_MS;
  #closed = false;

  constructor(connect: Connect, hearing: Hearing) {
    this.#connect = connect;
    this.#hearing = hearing;
    void this.#listen();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    if (!this.#client) return;
    const { stream } = this.#client.connection;
    const timer = setTimeout(() => stream.destroy(), GOODBYE_MS);
    await this.#client.end();
    clearTimeout(timer);
  }

  async #listen(): Promise<void> {
    const sql = this.#hearing.channels.map((channel) => `listen "${channel}"`).join('; ');
    try {
      const { client } = await this.#connect((connected) => {
        // Before it listens: what is announced at once comes with the answer.
        connected.on('notification', ({ payload = '' }) => this.#hearing.heard(payload));
        return connected.query(sql);
      });
      if (this.#closed) return await client.end();
      this.#client = client;
      this.#delayMs = FIRST_DELAY_MS;
      client.on('end', () => this.#lost(client));
      this.#ping(client);
      this.#hearing.listening();
    } catch (error) {
      if ('severity' in (error as Error)) this.#hearing.refused(error as Error);
      this.#hearing.failed();
      this.#tryAgain();
    }
  }

  #ping(client: WireClient): void {
    this.#timer = setTimeout(() => {
      client.query(ping()).then(
        () => !this.#closed && this.#ping(client),
        () => client.connection.stream.destroy(),
      );
    }, PING_EVERY_MS).unref();
  }

  #lost(client: WireClient): void {
    if (this.#closed || this.#client !== client) return;
    this.#client = undefined;
    clearTimeout(this.#timer);
    this.#tryAgain();
  }

  #tryAgain(): void {
    if (this.#closed) return;
    this.#timer = setTimeout(() => void this.#listen(), this.#delayMs).unref();
    this.#delayMs = Math.min(LONGEST_DELAY_MS, this.#delayMs * 2);
  }
}

/** pg knows a time limit per query; its type declarations do not. */
function ping(): QueryConfig {
  const limited = { text: 'select 1', query_timeout: PING_TIMEOUT_MS };
  return limited;
}
