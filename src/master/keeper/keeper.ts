import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { NamedAddress } from '../../contract/index.ts';
import { bindAddress, type BoundSocket } from '../bound-sockets.ts';
import { removePidFile, removeSocketFile, writePidFile } from '../process-files.ts';
import type {
  FromKeeper,
  FromLoader,
  Holdings,
  KeeperAnswer,
  KeeperQuestion,
  LoaderQuestion,
  ToKeeper,
} from '../rights/index.ts';

const DONE: KeeperAnswer = { type: 'done' };
/** Maximum number of questions that may wait for a process; a gateway has two or three. */
const MOST_WAITING = 8;

/** What stays when a keeper ends. */
export type Left = 'nothing' | 'files' | 'all';

/** Options of a `Keeper`. */
interface KeeperOptions {
  /** The source of the configuration as JSON. */
  readonly source: string;
  /** The process id for the pid file. */
  readonly pid: number;
  readonly answer: (message: FromKeeper, socket?: BoundSocket) => void;
}

/**
 * Uses root's rights for a process that has given them up: loads configurations, binds ports, hands over logs, and
 * maintains the pid file. It accepts no address or path from that process, only those of configurations that root
 * itself has loaded, and it parses nothing: each load runs in a separate process.
 */
export class Keeper {
  readonly #options: KeeperOptions;
  readonly #sockets = new Map<string, BoundSocket>();
  #holdings: Holdings | undefined;
  /** The holdings of the configuration that was loaded last and may come to serve. */
  #next: Holdings | undefined;
  #candidate: string | undefined;
  #nextCandidate: string | undefined;
  /** Runs root's processes one at a time, whatever the number of questions; never rejects. */
  #busy: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #isEnded = false;

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  receive(message: ToKeeper): void {
    // An attacker in control of the serving process may send anything.
    if (typeof message !== 'object' || message === null) return;
    // A process that the child has started may still hold the channel.
    if (this.#isEnded) return;
    if (message.type === 'grant') this.#grant(message);
    else void this.#answer(message);
  }

  /** The serving configuration, packed; absent while no process has given up root. */
  get candidate(): string | undefined {
    return this.#candidate;
  }

  /** The path of the pid file; absent while no process has given up root. */
  get pidFile(): string | undefined {
    return this.#holdings?.pidFile;
  }

  /** `worker_shutdown_timeout`; absent while no process has given up root. */
  get shutdownTimeoutMs(): number | undefined {
    return this.#holdings?.shutdownTimeoutMs;
  }

  /** Takes the sockets of the keeper of another process, which this keeper's process replaces. */
  succeed(other: Keeper): void {
    for (const [key, socket] of other.#sockets) {
      if (this.#sockets.has(key)) socket.close();
      else this.#sockets.set(key, socket);
    }
    other.#sockets.clear();
    const kept = this.#holdings?.addresses ?? [];
    const left = [...this.#sockets.keys()].filter((key) => !kept.some((address) => address.key === key));
    for (const key of left) this.#sockets.get(key)?.close();
    for (const key of left) this.#sockets.delete(key);
  }

  #grant({ holdings, candidate }: Extract<ToKeeper, { type: 'grant' }>): void {
    if (this.#holdings) return;
    this.#holdings = holdings;
    this.#candidate = candidate;
  }

  /**
   * Called when the serving process has ended. Closes everything that was open for it and removes its files, except
   * what `leaves` names because another process uses it.
   */
  end(leaves: Left = 'nothing'): void {
    this.#isEnded = true;
    if (leaves === 'all') return;
    this.#close();
    if (!this.#holdings || leaves === 'files') return;
    removePidFile(this.#holdings.pidFile, this.#options.pid);
    for (const { address } of this.#holdings.addresses) removeSocketFile(address);
    this.#holdings = this.#next = undefined;
  }

  #close(): void {
    for (const socket of this.#sockets.values()) socket.close();
    this.#sockets.clear();
  }

  async #answer({ question, ...asked }: KeeperQuestion & { readonly question: number }): Promise<void> {
    const { answer } = this.#options;
    try {
      if (asked.type !== 'socket') return answer({ ...(await this.#do(asked)), question });
      const socket = this.#socket(asked.key);
      if (typeof socket === 'number') answer({ type: 'socket', errno: socket, question });
      else answer({ type: 'socket', question }, socket);
    } catch (error) {
      answer({ type: 'failed', reason: (error as Error).message, question });
    }
  }

  async #do(asked: Exclude<KeeperQuestion, { type: 'socket' }>): Promise<KeeperAnswer> {
    switch (asked.type) {
      case 'load':
        return this.#load();
      case 'findings':
        return this.#ask({ wants: 'findings', source: this.#options.source });
      case 'reopen':
        return this.#holdings ? this.#ask({ wants: 'logs', holdings: this.#holdings }) : DONE;
      case 'accepted':
        this.#accept();
        return DONE;
      case 'refused':
        this.#refuse();
        return DONE;
      case 'leave':
        this.#close();
        return DONE;
      case 'serving':
        if (this.#holdings) writePidFile(this.#holdings.pidFile, this.#options.pid);
        return DONE;
    }
  }

  async #load(): Promise<KeeperAnswer> {
    if (!this.#holdings) throw new Error('no process has given up root');
    const { account } = this.#holdings;
    return this.#ask({ wants: 'candidate', source: this.#options.source, account });
  }

  async #ask(question: LoaderQuestion): Promise<KeeperAnswer> {
    const answer = await this.#afterOthers(question);
    if (answer.type !== 'candidate') return answer;
    this.#refuse();
    this.#next = answer.holdings;
    this.#nextCandidate = answer.candidate;
    return { type: 'loaded', candidate: answer.candidate, logs: answer.logs };
  }

  async #afterOthers(question: LoaderQuestion): Promise<FromLoader> {
    if (this.#waiting >= MOST_WAITING) throw new Error('too many questions wait for root');
    this.#waiting++;
    const asked = this.#busy.then(() => askLoader(question));
    // A loader that hands over logs outlives its answer. The next one waits for its end: there is only one at a time.
    this.#busy = asked.then(({ ended }) => ended).catch(() => undefined);
    return asked.then(({ answer }) => answer).finally(() => this.#waiting--);
  }

  #accept(): void {
    const before = this.#holdings;
    if (!this.#next || !before) return;
    this.#holdings = this.#next;
    this.#candidate = this.#nextCandidate;
    this.#next = this.#nextCandidate = undefined;
    const { pidFile } = this.#holdings;
    this.#leaveAddresses(before.addresses);
    if (pidFile === before.pidFile) return;
    writePidFile(pidFile, this.#options.pid);
    removePidFile(before.pidFile, this.#options.pid);
  }

  /**
   * Closes the sockets of the refused configuration. Clients would wait on them, because a worker may have listened.
   */
  #refuse(): void {
    const bound = this.#next?.addresses.filter(({ key }) => this.#sockets.has(key)) ?? [];
    this.#next = this.#nextCandidate = undefined;
    this.#leaveAddresses(bound);
  }

  /** Closes the sockets of addresses that the serving configuration does not have. */
  #leaveAddresses(addresses: readonly NamedAddress[]): void {
    const kept = new Set(this.#holdings?.addresses.map(({ key }) => key));
    for (const { key, address } of addresses) {
      if (kept.has(key)) continue;
      this.#sockets.get(key)?.close();
      this.#sockets.delete(key);
      removeSocketFile(address);
    }
  }

  #socket(key: string): BoundSocket | number {
    const known = this.#sockets.get(key);
    if (known) return known;
    const addresses = [this.#holdings, this.#next].flatMap((holdings) => holdings?.addresses ?? []);
    const found = addresses.find((address) => address.key === key);
    if (!found) throw new Error(`"${key}" is not in the configuration`);
    const bound = bindAddress(found.address);
    if (typeof bound !== 'number') this.#sockets.set(key, bound);
    return bound;
  }
}

/** Asks a separate process, so that the keeper survives anything that a configuration does to its loader. */
function askLoader(question: LoaderQuestion): {
  readonly answer: Promise<FromLoader>;
  readonly ended: Promise<unknown>;
} {
  const loader = fork(fileURLToPath(new URL('../master/keeper/loader.cjs', import.meta.url)), [], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  // If the loader ends before it receives the question, its exit is the answer.
  loader.send(question, () => undefined);
  const answer = new Promise<FromLoader>((resolve) => {
    loader.once('message', (message: FromLoader) => resolve(message));
    loader.once('error', ({ message }) => resolve({ type: 'failed', reason: message }));
    loader.once('exit', (code, signal) => {
      resolve({
        type: 'failed',
        reason: `the process that loads the configuration ended (${signal ?? `code ${code}`})`,
      });
    });
  });
  const ended = new Promise<void>((resolve) => {
    loader.once('exit', () => resolve());
    // The process could not be started.
    loader.once('error', () => resolve());
  });
  return { answer, ended };
}
