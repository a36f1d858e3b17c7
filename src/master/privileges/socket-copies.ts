import { type ChildProcess, fork, type SendHandle } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { helperEnvironment } from '../../system/index.ts';
import type { BoundSocket } from '../bound-sockets.ts';

/** A copy of a socket. It stays open until its user closes the descriptor or this process ends. */
interface SocketCopy {
  readonly fd: number;
}

/** The time for which the process waits for the next socket. */
const IDLE_MS = 2_000;
/** Time limit for a copy. It includes the start of the process. */
const COPY_MS = 10_000;

/**
 * Copies sockets of this process, so that several threads can listen on one. Node.js can copy a descriptor only by
 * sending it to another process, so a small process, which runs only while it is needed, sends each socket back.
 */
export class SocketCopies {
  #process: ChildProcess | undefined = undefined;
  #idle: NodeJS.Timeout | undefined = undefined;
  readonly #waiting = new Map<number, (copy: SocketCopy | undefined) => void>();
  /** References that prevent garbage collection from closing descriptors that workers use. */
  readonly #received: SocketCopy[] = [];
  #count = 0;

  /** Resolves to `undefined` if the process has ended. */
  copy(socket: BoundSocket): Promise<SocketCopy | undefined> {
    const copies = (this.#process ??= this.#start());
    const id = ++this.#count;
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.close(), COPY_MS);
    // The process may be the only thing that keeps this one alive.
    copies.ref();
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      copies.send({ id }, socket as BoundSocket & SendHandle, undefined, (error) => {
        if (error) this.#settle(id, undefined);
      });
    });
  }

  #start(): ChildProcess {
    const program = fileURLToPath(new URL('../master/privileges/copy-process.cjs', import.meta.url));
    const copies = fork(program, { env: helperEnvironment() });
    copies.on('message', ({ id }: { id: number }, socket: SocketCopy | undefined) => {
      if (socket) this.#received.push(socket);
      this.#settle(id, socket);
    });
    copies.on('error', () => this.#end(copies));
    copies.on('exit', () => this.#end(copies));
    return copies;
  }

  #settle(id: number, copy: SocketCopy | undefined): void {
    this.#waiting.get(id)?.(copy);
    this.#waiting.delete(id);
    if (this.#waiting.size > 0) return;
    clearTimeout(this.#idle);
    if (!this.#process) return;
    this.#process.unref();
    this.#idle = setTimeout(() => this.close(), IDLE_MS).unref();
  }

  #end(copies: ChildProcess): void {
    if (this.#process === copies) this.close();
  }

  /** Ends the process and all pending copies. The next copy starts another process. */
  close(): void {
    clearTimeout(this.#idle);
    const copies = this.#process;
    this.#process = undefined;
    // Node.js fails if sockets wait to be sent on a channel that it has disconnected.
    if (this.#waiting.size > 0) copies?.kill('SIGKILL');
    else if (copies?.connected) copies.disconnect();
    for (const id of this.#waiting.keys()) this.#settle(id, undefined);
  }
}
