import { BroadcastChannel } from 'node:worker_threads';

/** No worker has answered in time. The task of the question may have been done. */
export class CallLost extends Error {}

interface WorkerQuestion {
  /** The worker that asks. */
  readonly asks: number;
  readonly id: number;
  readonly kind: string;
  readonly question: unknown;
}

interface WorkerAnswer {
  /** The worker that has asked. */
  readonly asked: number;
  readonly id: number;
  readonly answer: unknown;
}

interface OpenCall {
  readonly resolve: (answer: unknown) => void;
  readonly timer: NodeJS.Timeout;
}

/** Answers questions of all workers. The answer must be cloneable; if the promise rejects, none is sent. */
type Answerer = (question: unknown) => Promise<unknown>;

/** The last question of this thread. During a reload, the old and the new calls of a cluster are open together. */
let lastId = 0;

/**
 * Sends questions of the workers of a process to the one that runs the node.
 *
 * A message wakes every thread that has the channel open. Only the first question goes to the channel of all workers.
 * Its answer, and the questions after it, go to a channel that only the two workers have open.
 */
export class WorkerCalls {
  readonly #name: string;
  readonly #workerId: number;
  readonly #common: BroadcastChannel;
  /** The channel between this worker and the one that runs the node. */
  readonly #own: BroadcastChannel;
  /** While this worker runs the node: the channels to the other workers, by their ids. */
  readonly #others = new Map<number, BroadcastChannel>();
  readonly #answerers = new Map<string, Answerer>();
  readonly #waiting = new Map<number, OpenCall>();
  #serves = false;
  /** The worker that runs the node listens to `#own`. */
  #isHeard = false;
  #isClosed = false;

  /** `name` is the same in all workers, and is not used by any other channel of the process. */
  constructor(name: string, workerId: number) {
    this.#name = name;
    this.#workerId = workerId;
    this.#common = this.#open(name);
    this.#own = this.#open(`${name} ${workerId}`);
  }

  /** Sets the function that answers questions of this kind while this worker serves. */
  answer(kind: string, answerer: Answerer): void {
    this.#answerers.set(kind, answerer);
  }

  /** Sets whether this worker answers questions. */
  serve(serves: boolean): void {
    this.#serves = serves;
    for (const channel of this.#others.values()) channel.close();
    this.#others.clear();
  }

  /** Asks the worker that serves. Rejects with `CallLost` if there is no answer in time. */
  async ask(kind: string, question: unknown, timeoutMs: number): Promise<unknown> {
    if (this.#serves) return this.#answerTo(kind, question);
    if (this.#isClosed) throw new CallLost('closed');
    const id = (lastId += 1);
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        if (!this.#waiting.delete(id)) return;
        this.#isHeard = false;
        reject(new CallLost(`no answer within ${timeoutMs} ms`));
      };
      // If this thread was busy, the answer may have arrived, and is read after the timers.
      const timer = setTimeout(() => setImmediate(giveUp), timeoutMs);
      this.#waiting.set(id, { resolve, timer });
      const channel = this.#isHeard ? this.#own : this.#common;
      channel.postMessage({ asks: this.#workerId, id, kind, question } satisfies WorkerQuestion);
    });
  }

  close(): void {
    this.#isClosed = true;
    this.serve(false);
    this.#common.close();
    this.#own.close();
  }

  #open(name: string): BroadcastChannel {
    const channel = new BroadcastChannel(name);
    channel.onmessage = (event) => this.#hear((event as { data: WorkerQuestion | WorkerAnswer }).data);
    channel.unref();
    return channel;
  }

  #hear(message: WorkerQuestion | WorkerAnswer): void {
    if ('asks' in message) {
      if (this.#serves) void this.#reply(message);
      return;
    }
    if (message.asked !== this.#workerId) return;
    this.#isHeard = true;
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    clearTimeout(waiting?.timer);
    waiting?.resolve(message.answer);
  }

  async #reply({ asks, id, kind, question }: WorkerQuestion): Promise<void> {
    try {
      const answer = await this.#answerTo(kind, question);
      if (this.#serves) this.#channelOf(asks).postMessage({ asked: asks, id, answer } satisfies WorkerAnswer);
    } catch {
      // No answer is sent: the worker that asks repeats the question, or gives up.
    }
  }

  async #answerTo(kind: string, question: unknown): Promise<unknown> {
    const answerer = this.#answerers.get(kind);
    if (!answerer) throw new CallLost(`nobody answers questions of the kind "${kind}"`);
    return answerer(question);
  }

  #channelOf(worker: number): BroadcastChannel {
    const known = this.#others.get(worker) ?? this.#open(`${this.#name} ${worker}`);
    this.#others.set(worker, known);
    return known;
  }
}
