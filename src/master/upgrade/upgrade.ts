import { type BoundSocket, portOf } from '../bound-sockets.ts';
import type { MasterProcess } from '../master-process.ts';
import { watchOwnTime } from '../own-time.ts';
import { MOST_PART_CHARS, type ToSupervisor } from '../protocol.ts';

/** Time for the new program to serve, without time in which it waits for a CPU (see `OwnTime`), and with it. */
const START_MS = 10_000;
const MOST_START_MS = 60_000;
/** Maximum number of sockets that are handed over. */
const MOST_SOCKETS = 4_096;

interface HandedSocket {
  readonly key: string;
  readonly socket: BoundSocket;
}

/**
 * The start of a new master beside the running one, seen from the supervisor. The running one hands over copies of its
 * listening sockets when the new one has read the configuration and asks for them.
 */
export class Upgrade {
  readonly running: MasterProcess;
  readonly next: MasterProcess;
  /** Resolves to the reason why the new master cannot serve, or to `undefined` when it serves. */
  readonly outcome: Promise<string | undefined>;
  /** The inet ports that the running master has handed over. */
  readonly ports = new Set<number>();
  readonly #sockets: HandedSocket[] = [];
  /** True while the running master is asked for its sockets. */
  #takesSockets = false;
  #isHandedOver = false;
  /** True while the new master waits for a part of the state. */
  #asksForState = false;
  #settle!: (reason: string | undefined) => void;

  constructor(running: MasterProcess, next: MasterProcess) {
    this.running = running;
    this.next = next;
    const limits = { ownMs: START_MS, mostMs: MOST_START_MS };
    const unwatch = watchOwnTime(next.pid, limits, () =>
      this.#settle(`the new program does not serve within ${START_MS / 1_000} s`),
    );
    this.outcome = new Promise<string | undefined>((resolve) => {
      this.#settle = resolve;
    }).finally(() => {
      unwatch();
      this.#takesSockets = false;
      for (const { socket } of this.#sockets) socket.close();
    });
    void running.ended.then(() => this.#giveState(''));
    void next.ended.then(({ code, signal }) =>
      this.#settle(`the new program ended before it served (${signal ?? `code ${code}`})`),
    );
  }

  /** Ends the attempt. */
  cancel(reason: string): void {
    this.#settle(reason);
  }

  /** Processes a message of one of the two masters. */
  hear(master: MasterProcess, message: ToSupervisor, socket: BoundSocket | undefined): void {
    if (master === this.running) return this.#hearRunning(message, socket);
    socket?.close();
    if (master === this.next) this.#hearNext(message);
  }

  #hearNext(message: ToSupervisor): void {
    if (message.type === 'ready') this.#settle(undefined);
    else if (message.type === 'unable') this.#settle(String(message.reason));
    else if (message.type === 'take') {
      const { index } = message;
      this.next.tell({ type: 'taken', index }, this.#sockets[index]?.socket);
    } else if (message.type === 'carry') {
      this.#asksForState = true;
      // Its end may have been before.
      if (this.running.isReady) this.running.tell({ type: 'carry' });
      else this.#giveState('');
    } else if (message.type === 'inherit') {
      void this.running.ended.then(() => {
        if (!this.#isHandedOver) this.#settle('the running program ended before it handed over its sockets');
      });
      this.#takesSockets = true;
      this.running.tell({ type: 'hand over' });
    }
  }

  /** `part` comes from a process that may be in the hands of an attacker. */
  #giveState(part: unknown): void {
    if (!this.#asksForState) return;
    this.#asksForState = false;
    const isSound = typeof part === 'string' && part.length <= MOST_PART_CHARS;
    this.next.tell({ type: 'carried', part: isSound ? part : '' });
  }

  #hearRunning(message: ToSupervisor, socket: BoundSocket | undefined): void {
    if (message.type === 'carried') this.#giveState(message.part);
    else if (message.type === 'copy' && socket) this.#take(message.key, socket);
    else if (message.type === 'handed' && this.#takesSockets) {
      this.#takesSockets = false;
      if (message.fault !== undefined) this.#settle(String(message.fault));
      else this.#isHandedOver = true;
      this.next.tell({ type: 'inherited', keys: this.#sockets.map(({ key }) => key) });
    }
  }

  #take(key: unknown, socket: BoundSocket): void {
    const isWanted = this.#takesSockets && typeof key === 'string' && this.#sockets.length < MOST_SOCKETS;
    if (!isWanted) return socket.close();
    this.#sockets.push({ key, socket });
    const port = portOf(socket);
    if (port !== undefined) this.ports.add(port);
  }
}
