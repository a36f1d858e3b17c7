import { fileURLToPath } from 'node:url';
import type { MessagePort } from 'node:worker_threads';
import type { Account } from '../../config/index.ts';
import { systemReason } from '../../log/index.ts';
import type { ErrorLog } from '../../log/index.ts';
import { addressText } from '../../plan/index.ts';
import type { GatewayPlan, PortPlan } from '../../plan/index.ts';
import type { Opening, Openings } from '../../worker/index.ts';
import { pack, unpack } from '../candidate.ts';
import type { Accepted, Candidate } from '../candidate.ts';
import type { KeeperAnswer, KeeperQuestion } from '../keeper/index.ts';
import { probePort } from '../probe-port.ts';
import { AcceptorThread } from './acceptor-thread.ts';
import { become, checkProgram, checkWritable } from './account.ts';
import { handOver } from './hand-over.ts';
import { holdingsOf, portsOfRoot } from './holdings.ts';
import type { KeeperChannel } from './keeper-channel.ts';
import type { Privileges } from './privileges.ts';

/** What it takes to give up root. */
export interface KeptOptions {
  readonly account: Account;
  readonly keeper: KeeperChannel;
  readonly log: ErrorLog;
}

/**
 * A process that gives up root before it serves. Ports that only root can bind are bound before by the acceptor, a thread
 * of this process that stays as long as it; everything else that takes root's rights later is asked of the keeper, a
 * process that has them still.
 */
export class KeptPrivileges implements Privileges {
  readonly #account: Account;
  readonly #keeper: KeeperChannel;
  readonly #log: ErrorLog;
  /** Ports for which the log has said that the node engine serves them. */
  readonly #told = new Set<string>();
  #acceptor: AcceptorThread | undefined;
  #settled = false;

  constructor({ account, keeper, log }: KeptOptions) {
    this.#account = account;
    this.#keeper = keeper;
    this.#log = log;
  }

  async settle(candidate: Accepted): Promise<void> {
    const { plan } = candidate;
    const { main, ports } = plan;
    const accepted = portsOfRoot(ports).filter(({ engine }) => engine !== 'node');
    if (accepted.length > 0) {
      this.#acceptor = await AcceptorThread.open(
        accepted.map(({ address }) => ({ key: addressText(address), address })),
      );
    }
    handOver(main.written, this.#account);
    this.#keeper.tell({
      type: 'grant',
      holdings: holdingsOf(plan, this.#account),
      candidate: pack(candidate),
    });
    become(this.#account);
    this.#settled = true;
    checkProgram(this.#account, fileURLToPath(new URL('../worker/main.js', import.meta.url)));
    checkWritable(this.#account, main.written);
  }

  async load(): Promise<Candidate> {
    const answer = await this.#ask({ type: 'load' });
    if (answer.type !== 'loaded') throw new Error('the configuration cannot be loaded');
    const candidate = unpack(answer.candidate);
    if (candidate.plan) checkWritable(this.#account, candidate.plan.main.written);
    return candidate;
  }

  async findings(): Promise<readonly string[]> {
    const answer = await this.#ask({ type: 'findings' });
    return answer.type === 'findings' ? answer.lines : [];
  }

  /** Ports of root are left out: the keeper binds them, and that fails where it has to. */
  async probe(ports: readonly PortPlan[]): Promise<void> {
    const ofRoot = new Set(this.#settled ? portsOfRoot(ports) : []);
    for (const port of ports) if (!ofRoot.has(port)) await probePort(port.address);
  }

  async openings(ports: readonly PortPlan[]): Promise<Openings> {
    const openings = new Map<string, Opening>();
    for (const { address, engine } of portsOfRoot(ports)) {
      const key = addressText(address);
      if (engine !== 'node' && this.#acceptor?.accepts(key)) {
        openings.set(key, { kind: 'acceptor' });
        continue;
      }
      openings.set(key, await this.#opening(key));
      if (engine === 'auto') this.#tellEngine(key);
    }
    return openings;
  }

  connect(workerId: number): MessagePort | undefined {
    return this.#acceptor?.connect(workerId);
  }

  hold(workerId: number): void {
    this.#acceptor?.hold(workerId);
  }

  async serving(): Promise<void> {
    await this.#ask({ type: 'serving' });
  }

  async replaced(_before: GatewayPlan, { plan: { ports } }: Accepted): Promise<void> {
    this.#acceptor?.keep(new Set(ports.map(({ address }) => addressText(address))));
    await this.#ask({ type: 'accepted' });
  }

  async refused(): Promise<void> {
    await this.#ask({ type: 'refused' });
  }

  async reopen(): Promise<void> {
    await this.#ask({ type: 'reopen' });
  }

  leave(): void {
    this.#acceptor?.keep(new Set());
    void this.#keeper.ask({ type: 'leave' });
  }

  /** The keeper needs no message: it notices when this process ends. */
  async ended(): Promise<void> {
    await this.#acceptor?.end();
  }

  #tellEngine(key: string): void {
    if (this.#told.has(key)) return;
    this.#told.add(key);
    const reason = 'only root can bind it, and the process has given up root';
    this.#log.write('notice', `${key} is served by the node engine until the next start: ${reason}`);
  }

  /** A socket of its own for the worker: it is closed with the worker, the keeper's stays open. */
  async #opening(key: string): Promise<Opening> {
    const { answer, socket } = await this.#keeper.ask({ type: 'socket', key });
    if (socket) return { kind: 'descriptor', fd: socket.fd };
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
