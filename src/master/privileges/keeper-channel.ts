import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { FromKeeper, KeeperAnswer, KeeperQuestion, ToKeeper } from '../keeper/index.ts';

/** A socket that the keeper sent. It stays open until its user closes the descriptor, or this process ends. */
export interface ReceivedSocket {
  readonly fd: number;
}

interface Answered {
  readonly answer: KeeperAnswer;
  readonly socket: ReceivedSocket | undefined;
}

/** The channel to the process that stayed root: the supervisor, or a child of this process where there is no supervisor. */
export class KeeperChannel {
  readonly #process: NodeJS.Process | ChildProcess;
  readonly #waiting = new Map<number, (answered: Answered) => void>();
  /** Kept from garbage collection, which would close descriptors that workers use. */
  readonly #received: ReceivedSocket[] = [];
  #questions = 0;

  constructor(source: string) {
    this.#process = process.env['GW_SUPERVISOR'] === undefined ? forkKeeper(source) : process;
    this.#process.on('message', (message: FromKeeper, socket: ReceivedSocket | undefined) => {
      if (socket) this.#received.push(socket);
      this.#waiting.get(message.question)?.({ answer: message, socket });
      this.#waiting.delete(message.question);
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

  ask(asked: KeeperQuestion): Promise<Answered> {
    const question = ++this.#questions;
    if (!this.#process.connected) {
      return Promise.resolve({ answer: { type: 'failed', reason: GONE }, socket: undefined });
    }
    this.tell({ ...asked, question });
    return new Promise((resolve) => {
      this.#waiting.set(question, resolve);
    });
  }
}

const GONE = 'the process that has the rights of root is gone';

function forkKeeper(source: string): ChildProcess {
  const keeper = fork(fileURLToPath(new URL('../master/keeper/keeper-process.js', import.meta.url)), [
    source,
  ]);
  // The gateway may end before it.
  keeper.unref();
  keeper.channel?.unref();
  return keeper;
}
