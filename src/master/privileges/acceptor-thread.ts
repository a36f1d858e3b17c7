import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { addressText, type PortPlan } from '../../plan/index.ts';
import type { AcceptedAddress, FromAcceptor, ToAcceptor } from '../../worker/index.ts';
import type { Inheritance } from '../upgrade/inheritance.ts';

/** What becomes of an inherited socket that the thread waits for; the values are those of its shared memory. */
const TAKEN = 1;

/**
 * The thread that accepts connections for all workers on ports that they cannot open: those that were bound while the
 * process was root, and those whose sockets come from the program that this one has replaced.
 */
export class AcceptorThread {
  readonly #thread: Worker;
  readonly #keys: Set<string>;

  private constructor(thread: Worker, keys: readonly string[]) {
    this.#thread = thread;
    this.#keys = new Set(keys);
  }

  /**
   * Opens the ports, with inherited sockets where there are any; `undefined` if there are no ports or uWebSockets.js
   * cannot be loaded. Rejects if an address cannot be bound.
   */
  static async open(
    ports: readonly PortPlan[],
    inheritance: Inheritance | undefined,
  ): Promise<AcceptorThread | undefined> {
    if (ports.length === 0) return undefined;
    const addresses = ports.map(({ address, ssl }): AcceptedAddress => ({
      key: addressText(address),
      address,
      tls: ssl,
      inherited: inheritance?.countOf(address) ?? 0,
    }));
    const cell = new Int32Array(new SharedArrayBuffer(4));
    const thread = new Worker(new URL('../worker/acceptor-thread.cjs', import.meta.url), {
      workerData: { addresses, cell },
    });
    const opened = await untilOpen(thread, async ({ nth, fd, index }) => {
      const { address } = ports[index] as PortPlan;
      await inheritance?.takeAt(address, { nth, fd });
      Atomics.store(cell, 0, TAKEN);
      Atomics.notify(cell, 0);
    });
    const isThere = opened.type === 'open';
    const acceptor = new AcceptorThread(thread, isThere ? addresses.map(({ key }) => key) : []);
    const [first] = isThere ? opened.refused : [];
    if (isThere && first === undefined) return acceptor;
    acceptor.keep(new Set());
    await acceptor.end();
    if (first === undefined) return undefined;
    throw new Error(`bind() to ${first} failed`);
  }

  accepts(key: string): boolean {
    return this.#keys.has(key);
  }

  /** Opens a message port between a worker and the thread. */
  connect(workerId: number): MessagePort {
    const { port1, port2 } = new MessageChannel();
    this.#tell({ type: 'connect', workerId, port: port1 }, [port1]);
    return port2;
  }

  hold(workerId: number): void {
    this.#tell({ type: 'hold', workerId });
  }

  /** Closes the sockets whose keys are not in the set. */
  keep(keys: ReadonlySet<string>): void {
    for (const key of this.#keys) {
      if (keys.has(key)) continue;
      this.#keys.delete(key);
      this.#tell({ type: 'close', key });
    }
  }

  /** Ends the thread; resolves when it has exited. */
  async end(): Promise<void> {
    const gone = new Promise((resolve) => {
      this.#thread.once('exit', resolve);
    });
    this.#tell({ type: 'end' });
    await gone;
  }

  #tell(message: ToAcceptor, transfer: readonly MessagePort[] = []): void {
    this.#thread.postMessage(message, [...transfer]);
  }
}

type Adoption = Extract<FromAcceptor, { type: 'adopt' }>;

/** Resolves to the message that says what is open. `adopt` brings an inherited socket to its descriptor. */
function untilOpen(
  thread: Worker,
  adopt: (adoption: Adoption) => Promise<void>,
): Promise<Exclude<FromAcceptor, Adoption>> {
  return new Promise((resolve, reject) => {
    thread.on('message', (message: FromAcceptor) => {
      if (message.type === 'adopt') void adopt(message).catch(reject);
      else resolve(message);
    });
    thread.once('error', reject);
  });
}
