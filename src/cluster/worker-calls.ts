import { BroadcastChannel } from 'node:worker_threads';

/** No worker has answered in time. What was asked may have been done. */
export class CallLost extends Error {}

/** A question from one worker, or the answer to it. */
type Message =
  | { readonly asks: number; readonly id: number; readonly question: unknown }
  | { readonly asked: number; readonly id: number; readonly answer: unknown };

interface Waiting {
  readonly resolve: (answer: unknown) => void;
  readonly timer: NodeJS.Timeout;
}

/** Answers questions of all workers; the answer can be sent to a thread. A promise that rejects gives no answer. */
type Answerer = (question: unknown) => Promise<unknown>;

/** Questions of the workers of a process to the one that runs the node. */
export class WorkerCalls {
  readonly #channel: BroadcastChannel;
  readonly #workerId: number;
  readonly #waiting = new Map<number, Waiting>();
  #answerer: Answerer | undefined;
  #last = 0;

  /** `name` is the same in all workers, and no other channel of the process has it. */
  constructor(name: string, workerId: number) {
    this.#workerId = workerId;
    this.#channel = new BroadcastChannel(name);
    this.#channel.onmessage = (event) => this.#hear((event as { data: Message }).data);
    this.#channel.unref();
  }

  /** From now on this worker answers; `undefined`: it does not any more. */
  answerWith(answerer: Answerer | undefined): void {
    this.#answerer = answerer;
  }

  /** Asks the worker that answers. Rejects with `CallLost`. */
  async ask(question: unknown, timeoutMs: number): Promise<unknown> {
    if (this.#answerer) return this.#answerer(question);
    const id = (this.#last += 1);
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        if (this.#waiting.delete(id)) reject(new CallLost(`no answer within ${timeoutMs} ms`));
      };
      // If this thread was busy, the answer may be there, and be heard after the timers.
      const timer = setTimeout(() => setImmediate(giveUp), timeoutMs);
      this.#waiting.set(id, { resolve, timer });
      this.#channel.postMessage({ asks: this.#workerId, id, question } satisfies Message);
    });
  }

  close(): void {
    this.#answerer = undefined;
    this.#channel.close();
  }

  #hear(message: Message): void {
    if ('asks' in message) return void this.#answer(message.asks, message.id, message.question);
    if (message.asked !== this.#workerId) return;
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    clearTimeout(waiting?.timer);
    waiting?.resolve(message.answer);
  }

  async #answer(asked: number, id: number, question: unknown): Promise<void> {
    if (!this.#answerer) return;
    try {
      const answer = await this.#answerer(question);
      this.#channel.postMessage({ asked, id, answer } satisfies Message);
    } catch {
      // Who asks hears nothing, and asks again or gives up.
    }
  }
}
