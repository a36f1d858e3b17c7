import { closeSync } from 'node:fs';
import type { ListenAddress } from '../../contract/index.ts';
import { addressText, type PortPlan } from '../../plan/index.ts';
import { listensAt } from '../../system/index.ts';
import { type BoundSocket, portOf } from '../bound-sockets.ts';
import { askSupervisor, type Copy } from './questions.ts';

/** How many copies may land elsewhere because other descriptors became free meanwhile. */
const MOST_ELSEWHERE = 64;
/** Time limit for an answer of the supervisor. */
const ANSWER_MS = 10_000;

/** The listening sockets of the program that this one replaces. The supervisor has them, and sends copies. */
export class Inheritance {
  readonly #indexes = new Map<string, number[]>();
  /** References that prevent garbage collection from closing descriptors that other threads use. */
  readonly #kept: Copy[] = [];

  private constructor(keys: readonly string[]) {
    for (const [index, key] of keys.entries())
      this.#indexes.set(key, [...(this.#indexes.get(key) ?? []), index]);
  }

  /** Asks for the sockets if this process is to replace another one. */
  static async ask(): Promise<Inheritance | undefined> {
    if (!isUpgrade()) return undefined;
    const { message } = await askSupervisor({ type: 'inherit' }, 'inherited', ANSWER_MS);
    return new Inheritance(message.keys);
  }

  /** The number of sockets that listen at the address. */
  countOf(address: ListenAddress): number {
    return this.#indexes.get(addressText(address))?.length ?? 0;
  }

  has({ address }: Pick<PortPlan, 'address'>): boolean {
    return this.countOf(address) > 0;
  }

  /** Takes all sockets of an address. Rejects if they listen elsewhere. */
  async takeAll(address: ListenAddress): Promise<readonly BoundSocket[]> {
    const sockets: BoundSocket[] = [];
    for (let nth = 0; nth < this.countOf(address); nth += 1) {
      const copy = await this.#take(address, nth);
      this.#check(copy, address);
      sockets.push(copy);
    }
    return sockets;
  }

  /**
   * Replaces the socket that has the descriptor `fd` by an inherited one. The kernel gives a copy the lowest free
   * descriptor, which is this one once it is closed. No other thread may open files meanwhile. Rejects if that fails;
   * the process must then end, because another thread uses the descriptor.
   */
  async takeAt(address: ListenAddress, { nth, fd }: { nth: number; fd: number }): Promise<void> {
    closeSync(fd);
    const elsewhere: Copy[] = [];
    let copy = await this.#take(address, nth);
    while (copy.fd !== fd && elsewhere.length < MOST_ELSEWHERE) {
      elsewhere.push(copy);
      copy = await this.#take(address, nth);
    }
    for (const other of elsewhere) other.close();
    this.#kept.push(copy);
    if (copy.fd !== fd) throw new Error(`the socket of ${addressText(address)} cannot be taken over`);
    this.#check(copy, address);
  }

  /** An attacker in control of the replaced process may have sent anything. */
  #check(copy: Copy, address: ListenAddress): void {
    if ((portOf(copy) !== undefined) !== (address.kind === 'inet') || !listensAt(copy.fd, address))
      throw new Error(`the socket that was handed over for ${addressText(address)} does not listen there`);
  }

  async #take(address: ListenAddress, nth: number): Promise<Copy> {
    const index = this.#indexes.get(addressText(address))?.[nth];
    if (index === undefined) throw new Error(`no socket was handed over for ${addressText(address)}`);
    const { socket } = await askSupervisor({ type: 'take', index }, 'taken', ANSWER_MS);
    if (!socket) throw new Error(`no socket came for ${addressText(address)}`);
    return socket;
  }
}

/** Tells whether this process is to replace another master. */
export function isUpgrade(): boolean {
  return process.env['GW_UPGRADE_FROM'] !== undefined;
}
