import { once } from 'node:events';
import { MessageChannel, Worker } from 'node:worker_threads';
import type { MessagePort } from 'node:worker_threads';
import type { FromAcceptor, ToAcceptor } from '../../worker/index.ts';
import type { NamedAddress } from '../keeper/index.ts';

/** The thread that accepts connections for all workers, on ports that it bound while the process was root. */
export class AcceptorThread {
  readonly #thread: Worker;
  readonly #keys: Set<string>;

  private constructor(thread: Worker, keys: readonly string[]) {
    this.#thread = thread;
    this.#keys = new Set(keys);
  }

  /** Binds what it can; without uWebSockets.js nothing. */
  static async open(addresses: readonly NamedAddress[]): Promise<AcceptorThread> {
    const thread = new Worker(new URL('../worker/acceptor.js', import.meta.url), { workerData: addresses });
    const [opened] = (await once(thread, 'message')) as [FromAcceptor];
    const isThere = opened.type === 'open';
    const acceptor = new AcceptorThread(thread, isThere ? addresses.map(({ key }) => key) : []);
    const [first] = isThere ? opened.refused : [];
    if (first === undefined) return acceptor;
    acceptor.keep(new Set());
    await acceptor.end();
    throw new Error(`bind() to ${first} failed`);
  }

  accepts(key: string): boolean {
    return this.#keys.has(key);
  }

  /** A worker's port for talking to it. */
  connect(workerId: number): MessagePort {
    const { port1, port2 } = new MessageChannel();
    this.#tell({ type: 'connect', workerId, port: port1 }, [port1]);
    return port2;
  }

  hold(workerId: number): void {
    this.#tell({ type: 'hold', workerId });
  }

  /** Closes the sockets that are not among these keys. */
  keep(keys: ReadonlySet<string>): void {
    for (const key of this.#keys) {
      if (keys.has(key)) continue;
      this.#keys.delete(key);
      this.#tell({ type: 'close', key });
    }
  }

  /** Resolves when the thread is gone. */
  async end(): Promise<void> {
    const gone = once(this.#thread, 'exit');
    this.#tell({ type: 'end' });
    await gone;
  }

  #tell(message: ToAcceptor, transfer: readonly MessagePort[] = []): void {
    this.#thread.postMessage(message, [...transfer]);
  }
}
