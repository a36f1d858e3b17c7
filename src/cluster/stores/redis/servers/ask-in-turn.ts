import { type Endpoint, redisLabel, type Reply, type ReplyError } from '../../../../redis/index.ts';
import { StoreLost } from '../../store.ts';
import { StoreConnection } from './store-connection.ts';

interface Asking<T> {
  readonly timeoutMs: number;
  /** Rejects as a store does if the server cannot tell. */
  readonly ask: (connection: StoreConnection, server: Endpoint) => Promise<T>;
  readonly signal: AbortSignal;
  readonly owner?: {
    readonly down: (reason: string) => void;
    readonly unasked: (message: Reply | ReplyError) => void;
  };
}

/** What a server has told, and the connection to it, which stays open. */
interface Told<T> {
  readonly value: T;
  readonly connection: StoreConnection;
  readonly server: Endpoint;
}

/** Asks one server after the other until one of them tells. Rejects with `StoreLost` if none does. */
export async function askInTurn<T>(servers: readonly Endpoint[], asking: Asking<T>): Promise<Told<T>> {
  const { timeoutMs, ask, signal, owner } = asking;
  let reason = 'there is no server to ask';
  for (const server of servers) {
    if (signal.aborted) break;
    const connection = new StoreConnection({ endpoint: server, timeoutMs }, owner);
    const end = (): void => connection.close();
    signal.addEventListener('abort', end);
    try {
      await connection.ready();
      return { value: await ask(connection, server), connection, server };
    } catch (error) {
      connection.close();
      reason = `${redisLabel(server)}: ${(error as Error).message}`;
    } finally {
      signal.removeEventListener('abort', end);
    }
  }
  throw new StoreLost(reason);
}
