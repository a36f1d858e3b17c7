import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { MessagePort } from 'node:worker_threads';
import type { ErrorLog, HeldLogs, LogOpener } from '../../log/index.ts';
import { addressText, type GatewayPlan, type PortPlan } from '../../plan/index.ts';
import { type Account, systemReason } from '../../system/index.ts';
import type { Opening, Openings } from '../../worker/index.ts';
import { type AcceptedCandidate, type Candidate, pack, unpack } from '../candidate.ts';
import {
  become,
  checkLogs,
  checkProgram,
  checkWritable,
  type FromKeeper,
  handOver,
  holdingsOf,
  type KeeperAnswer,
  type KeeperQuestion,
  logFaults,
  type OpenedLogs,
  openLogs,
  portsOfRoot,
  type ToKeeper,
} from '../rights/index.ts';
import type { Inheritance } from '../upgrade/inheritance.ts';
import { KeptLogs } from './kept-logs.ts';
import { ListeningSockets } from './listening-sockets.ts';
import type { Privileges } from './privileges.ts';

/** Options of `KeptPrivileges`. */
interface KeptOptions {
  readonly account: Account;
  readonly keeper: KeeperChannel;
  readonly log: ErrorLog;
  /** Opens the logs of this thread. */
  readonly opener: LogOpener;
  /** The sockets of the program that this one replaces. */
  readonly inheritance: Inheritance | undefined;
}

/**
 * The privileges of a process that gives up root before it serves. The acceptor, a thread of this process, first binds
 * the ports that only root can bind. Later operations that need root are left to the keeper, a process that stays root.
 */
export class KeptPrivileges implements Privileges {
  readonly #account: Account;
  readonly #keeper: KeeperChannel;
  readonly #log: ErrorLog;
  readonly #opener: LogOpener;
  readonly #logs: KeptLogs;
  /** Ports for which the log says that the node engine serves them. */
  readonly #told = new Set<string>();
  /** Without the ports of root that the keeper binds after a reload. */
  readonly #sockets: ListeningSockets;
  #settled = false;

  constructor({ account, keeper, log, opener, inheritance }: KeptOptions) {
    this.#sockets = new ListeningSockets(inheritance);
    this.#account = account;
    this.#keeper = keeper;
    this.#log = log;
    this.#opener = opener;
    this.#logs = new KeptLogs(opener);
  }

  get logs(): HeldLogs {
    return this.#logs.held;
  }

  async settle(candidate: AcceptedCandidate): Promise<void> {
    const { plan } = candidate;
    const { main, ports } = plan;
    await this.#sockets.settle(ports, portsOfRoot(ports));
    handOver(main.written, this.#account);
    const { held, faults } = openLogs(main.written.files, this.#account);
    this.#logs.open(held);
    this.#keeper.tell({
      type: 'grant',
      holdings: holdingsOf(plan, this.#account),
      candidate: pack(candidate),
    });
    become(this.#account);
    this.#settled = true;
    checkProgram(this.#account, fileURLToPath(new URL('../worker/main.cjs', import.meta.url)));
    this.#check(plan, faults);
  }

  /** Throws if the account cannot write the files and directories of the configuration. */
  #check({ main: { written } }: GatewayPlan, faults: OpenedLogs['faults']): void {
    checkLogs(this.#account, { files: written.files, faults, opener: this.#opener });
    checkWritable(this.#account, [...written.directories, ...written.sharedDirectories]);
  }

  async load(): Promise<Candidate> {
    const answer = await this.#ask({ type: 'load' });
    if (answer.type !== 'loaded') throw new Error('the configuration cannot be loaded');
    const candidate = unpack(answer.candidate);
    if (answer.logs) this.#logs.take(answer.logs);
    if (candidate.plan) this.#check(candidate.plan, answer.logs?.faults ?? {});
    return candidate;
  }

  async findings(): Promise<readonly string[]> {
    const answer = await this.#ask({ type: 'findings' });
    return answer.type === 'findings' ? answer.lines : [];
  }

  /** Probes the ports, except those of root, which the keeper binds. */
  async probe(ports: readonly PortPlan[]): Promise<void> {
    const ofRoot = new Set(this.#settled ? portsOfRoot(ports) : []);
    await this.#sockets.probe(ports.filter((port) => !ofRoot.has(port)));
  }

  async openings(ports: readonly PortPlan[]): Promise<Openings> {
    const ofRoot = portsOfRoot(ports).filter((port) => !this.#sockets.has(port));
    const openings = await this.#sockets.openings(ports.filter((port) => !ofRoot.includes(port)));
    for (const { address, engine } of ofRoot) {
      const key = addressText(address);
      openings.set(key, await this.#opening(key));
      if (engine === 'auto') this.#tellEngine(key);
    }
    return openings;
  }

  connect(workerId: number): MessagePort | undefined {
    return this.#sockets.connect(workerId);
  }

  hold(workerId: number): void {
    this.#sockets.hold(workerId);
  }

  async serving({ plan }: AcceptedCandidate): Promise<void> {
    this.#sockets.keep(plan.ports);
    await this.#ask({ type: 'serving' });
  }

  async replaced(_before: GatewayPlan, { plan: { ports } }: AcceptedCandidate): Promise<void> {
    this.#sockets.keep(ports);
    this.#logs.accept();
    await this.#ask({ type: 'accepted' });
  }

  async refused(): Promise<void> {
    this.#sockets.refused();
    this.#logs.refuse();
    await this.#ask({ type: 'refused' });
  }

  async reopen({ main: { written } }: GatewayPlan): Promise<readonly string[]> {
    const answer = await this.#ask({ type: 'reopen' });
    if (answer.type !== 'reopened') return [];
    this.#logs.take(answer.logs);
    const { faults } = answer.logs;
    return logFaults(this.#account, { files: written.files, faults, opener: this.#opener });
  }

  reopened(): void {
    this.#logs.accept();
  }

  leave(how: { readonly isReplaced: boolean }): void {
    this.#sockets.leave(how);
    void this.#keeper.ask({ type: 'leave' });
  }

  /** Sends no message: the keeper notices when this process ends. */
  async ended(): Promise<void> {
    await this.#sockets.ended();
  }

  #tellEngine(key: string): void {
    if (this.#told.has(key)) return;
    this.#told.add(key);
    const reason = 'only root can bind it, and the process has given up root';
    this.#log.write('notice', `${key} is served by the node engine until the next start: ${reason}`);
  }

  /** Opens a separate socket for a worker. It is closed with the worker, while the keeper's socket stays open. */
  async #opening(key: string): Promise<Opening> {
    const { answer, socket } = await this.#keeper.ask({ type: 'socket', key });
    if (socket) return { kind: 'descriptor', fds: [socket.fd] };
    return { kind: 'refused', reason: `bind() to ${key} failed (${reasonOf(answer)})` };
  }

  async #ask(question: KeeperQuestion): Promise<KeeperAnswer> {
    const { answer } = await this.#keeper.ask(question);
    if (answer.type === 'failed') throw new Error(answer.reason);
    return answer;
  }
}

function reasonOf(answer: KeeperAnswer): string {
  if (answer.type === 'failed') return answer.reason;
  return answer.type === 'socket' ? systemReason({ errno: answer.errno, message: 'no socket came' }) : '';
}

/** A socket from the keeper. It stays open until its user closes the descriptor or this process ends. */
interface ReceivedSocket {
  readonly fd: number;
}

interface KeptQuestion {
  readonly answer: KeeperAnswer;
  readonly socket: ReceivedSocket | undefined;
}

/** The channel to the process that stays root: the supervisor, or a child process if there is no supervisor. */
export class KeeperChannel {
  readonly #process: NodeJS.Process | ChildProcess;
  /** The same if it is a child process. It keeps this process alive only while a question is pending. */
  readonly #child: ChildProcess | undefined;
  readonly #waiting = new Map<number, (answered: KeptQuestion) => void>();
  /** References that prevent garbage collection from closing descriptors that workers use. */
  readonly #received: ReceivedSocket[] = [];
  #questions = 0;

  constructor(source: string) {
    this.#child = process.env['GW_SUPERVISOR'] === undefined ? forkKeeper(source) : undefined;
    this.#process = this.#child ?? process;
    this.#process.on('message', (message: FromKeeper, socket: ReceivedSocket | undefined) => {
      if (socket) this.#received.push(socket);
      this.#waiting.get(message.question)?.({ answer: message, socket });
      this.#waiting.delete(message.question);
      if (this.#waiting.size === 0) this.#child?.channel?.unref();
    });
    this.#process.on('disconnect', () => {
      for (const answered of this.#waiting.values())
        answered({ answer: { type: 'failed', reason: GONE }, socket: undefined });
      this.#waiting.clear();
    });
  }

  tell(message: ToKeeper): void {
    this.#process.send?.(message, undefined, undefined, () => undefined);
  }

  ask(asked: KeeperQuestion): Promise<KeptQuestion> {
    const question = ++this.#questions;
    if (!this.#process.connected) {
      return Promise.resolve({ answer: { type: 'failed', reason: GONE }, socket: undefined });
    }
    this.tell({ ...asked, question });
    // Before the gateway serves, the child may be the only thing that keeps this process alive.
    this.#child?.channel?.ref();
    return new Promise((resolve) => {
      this.#waiting.set(question, resolve);
    });
  }
}

const GONE = 'the process that has the rights of root is gone';

function forkKeeper(source: string): ChildProcess {
  const keeper = fork(fileURLToPath(new URL('../master/keeper/keeper-process.cjs', import.meta.url)), [
    source,
  ]);
  // The gateway may end before the keeper.
  keeper.unref();
  keeper.channel?.unref();
  return keeper;
}
