import { AsyncLocalStorage } from 'node:async_hooks';
import { type ChildProcess, fork, type SendHandle } from 'node:child_process';
import { once } from 'node:events';
import { type BoundSocket, boundSocketOf, closeHandle } from './bound-sockets.ts';
import { Keeper, type Left } from './keeper/index.ts';
import { OwnTime } from './own-time.ts';
import { isVersion, type ServingFacts, type ToMaster, type ToSupervisor } from './protocol.ts';
import type { ToKeeper } from './rights/index.ts';

/**
 * A master counts as hanging after this much of its own time (see `OwnTime`) without a heartbeat. Seconds are counted,
 * not measured, because this process may have been suspended as well.
 */
const MOST_SILENT_MS = 15_000;
/** The longest `worker_shutdown_timeout` that counts if the serving process alone tells it. */
const MOST_SHUTDOWN_MS = 86_400_000;
/** Time to read a child's last messages; used up only if a process that the child left holds the channel. */
const LAST_WORDS_MS = 500;

/** How a master has ended. */
export interface MasterEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** The messages that are not for the keeper: all of `ToSupervisor`. */
const FOR_SUPERVISOR: Readonly<Record<ToSupervisor['type'], true>> = {
  ready: true,
  alive: true,
  keep: true,
  last: true,
  outcome: true,
  unable: true,
  inherit: true,
  take: true,
  copy: true,
  handed: true,
  carry: true,
  carried: true,
  left: true,
};

/** The master whose channel is being read. */
const reading = new AsyncLocalStorage<MasterProcess>();

/** Returns the master whose messages Node.js could not read, in the handler of that error. */
export function senderOfFault(): MasterProcess | undefined {
  return reading.getStore();
}

/** How to start a master. */
interface MasterCommand {
  /** Path of its program. */
  readonly program: string;
  /** The source of the configuration as JSON. */
  readonly source: string;
  readonly env: NodeJS.ProcessEnv;
}

/** Events of a master for the supervisor. */
interface MasterEvents {
  /** A message has come; the socket comes with `copy` only. */
  heard(master: MasterProcess, message: ToSupervisor, socket: BoundSocket | undefined): void;
  failed(message: string): void;
}

/** A master in a child process, seen from the supervisor. */
export class MasterProcess {
  readonly ended: Promise<MasterEnd>;
  readonly keeper: Keeper;
  /** What stays when it ends, because another master uses it. */
  leaves: Left = 'nothing';
  readonly #child: ChildProcess;
  #isReady = false;
  #hasEnded = false;
  #facts: ServingFacts | undefined;
  #candidate: string | undefined;
  #shutdownTimeoutMs = MOST_SHUTDOWN_MS;

  constructor({ program, source, env }: MasterCommand, events: MasterEvents) {
    this.#child = reading.run(this, () => fork(program, [source], { stdio: 'inherit', env }));
    // This process is root and performs what needs root's rights, for a child that gives them up.
    this.keeper = new Keeper({
      source,
      pid: process.pid,
      answer: (message, socket) => this.#send(message, socket),
    });
    let silentMs = 0;
    const { pid = 0 } = this.#child;
    const ownTime = new OwnTime(pid, pid);
    this.#child.on('message', (message: ToSupervisor | ToKeeper | null, handle?: SendHandle) => {
      silentMs = 0;
      this.#receive(message, handle, events);
    });
    const watch = setInterval(() => {
      silentMs += ownTime.of(1_000);
      if (this.#isReady && silentMs > MOST_SILENT_MS) this.#child.kill('SIGKILL');
    }, 1_000);
    this.ended = this.#untilEnded(events).finally(() => {
      clearInterval(watch);
      this.#hasEnded = true;
      if (this.#child.connected) this.#child.disconnect();
      this.#isReady = false;
      this.keeper.end(this.leaves);
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** True while it serves. Before that, any signal other than a stop would kill it. */
  get isReady(): boolean {
    return this.#isReady;
  }

  /** The program that serves. The path of the pid file is that of the configuration that root has read. */
  get facts(): ServingFacts | undefined {
    const { pidFile = this.#facts?.pidFile } = this.keeper;
    return this.#facts && pidFile !== undefined ? { version: this.#facts.version, pidFile } : undefined;
  }

  /** The configuration that served last, packed. After root has been given up, only those that root has loaded count. */
  get candidate(): string | undefined {
    return this.keeper.candidate ?? this.#candidate;
  }

  /** `worker_shutdown_timeout` of the serving configuration; of those that root has loaded, if root was given up. */
  get shutdownTimeoutMs(): number {
    return this.keeper.shutdownTimeoutMs ?? this.#shutdownTimeoutMs;
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  tell(message: ToMaster, socket?: BoundSocket): void {
    this.#send(message, socket);
  }

  #send(message: object, socket?: BoundSocket): void {
    // The child may end before the message arrives. A handle of libuv can be sent, although the types do not say so.
    this.#child.send(message, socket as (BoundSocket & SendHandle) | undefined, undefined, () => undefined);
  }

  /** The process may be in the hands of an attacker: it may send anything, with anything. */
  #receive(message: ToSupervisor | ToKeeper | null, handle: SendHandle, events: MasterEvents): void {
    const isCopy = !this.#hasEnded && message?.type === 'copy';
    const socket = isCopy ? boundSocketOf(handle) : undefined;
    if (!socket) closeHandle(handle);
    if (this.#hasEnded || message === null) return;
    try {
      this.#hear(message, socket, events);
    } catch (error) {
      events.failed((error as Error).message);
      this.kill('SIGKILL');
    }
  }

  #hear(message: ToSupervisor | ToKeeper, socket: BoundSocket | undefined, events: MasterEvents): void {
    if (!isForSupervisor(message)) return this.keeper.receive(message);
    if (message.type === 'ready') {
      // A master serves once. The process may be in the hands of an attacker.
      if (this.#facts || !isVersion(message.version)) return;
      this.#isReady = true;
      this.#facts = { version: message.version, pidFile: String(message.pidFile) };
    }
    if (message.type === 'keep') this.#kept(message);
    else if (message.type !== 'alive') events.heard(this, message, socket);
  }

  #kept({ candidate, shutdownTimeoutMs }: Extract<ToSupervisor, { type: 'keep' }>): void {
    this.#candidate = candidate;
    const isSound = Number.isSafeInteger(shutdownTimeoutMs) && shutdownTimeoutMs >= 0;
    this.#shutdownTimeoutMs = isSound ? Math.min(shutdownTimeoutMs, MOST_SHUTDOWN_MS) : MOST_SHUTDOWN_MS;
  }

  #untilEnded(events: MasterEvents): Promise<MasterEnd> {
    const child = this.#child;
    return new Promise((resolve) => {
      child.once('exit', (code, signal) => void untilRead(child).then(() => resolve({ code, signal })));
      child.on('error', ({ message }) => {
        events.failed(message);
        // If the process could not be started, there is no exit event.
        if (child.pid === undefined) resolve({ code: 1, signal: null });
      });
    });
  }
}

function isForSupervisor(message: ToSupervisor | ToKeeper): message is ToSupervisor {
  return typeof message.type === 'string' && Object.hasOwn(FOR_SUPERVISOR, message.type);
}

/** Resolves when all messages of an ended child have been read. */
async function untilRead(child: ChildProcess): Promise<void> {
  if (!child.connected) return;
  const signal = AbortSignal.timeout(LAST_WORDS_MS);
  await once(child, 'disconnect', { signal }).catch(() => undefined);
}
