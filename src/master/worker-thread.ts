import { Worker } from 'node:worker_threads';
import type { FromWorker, ToWorker, WorkerStart } from '../worker/index.ts';

/** What a thread tells while it lives. */
export interface ThreadEvents {
  /** It is gone, on its own or because it was told to. */
  exited(thread: WorkerThread): void;
  /** Something that nobody caught ended it. */
  crashed(thread: WorkerThread, reason: string): void;
}

type Reply = Exclude<FromWorker, { type: 'crashed' }>;

/** The master's side of one worker thread. */
export class WorkerThread {
  readonly workerId: number;
  /** True from the moment it was told to stop: its end is no accident. */
  stopping = false;
  readonly #worker: Worker;
  #waiting: { resolve: (reply: Reply) => void; reject: (error: Error) => void } | undefined;
  #gone = false;

  constructor(start: WorkerStart, events: ThreadEvents) {
    this.workerId = start.workerId;
    this.#worker = new Worker(new URL('../worker/main.js', import.meta.url), { workerData: start });
    this.#worker.on('message', (message: FromWorker) => {
      if (message.type === 'crashed') this.#end(events, message.reason);
      else this.#waiting?.resolve(message);
    });
    this.#worker.on('error', (error: Error) => this.#end(events, error.stack ?? error.message));
    this.#worker.on('exit', () => {
      this.#gone = true;
      this.#waiting?.reject(new Error(`worker ${this.workerId} exited`));
      events.exited(this);
    });
  }

  /** Resolves when the first configuration is served. */
  listening(): Promise<void> {
    return this.#reply().then(() => undefined);
  }

  /** Sends a message and waits for its answer; fails when the thread ends first. */
  ask(message: ToWorker): Promise<Reply> {
    const reply = this.#reply();
    this.tell(message);
    return reply;
  }

  tell(message: ToWorker): void {
    if (message.type === 'stop') this.stopping = true;
    this.#worker.postMessage(message);
  }

  #reply(): Promise<Reply> {
    if (this.#gone) return Promise.reject(new Error(`worker ${this.workerId} exited`));
    return new Promise<Reply>((resolve, reject) => {
      this.#waiting = { resolve, reject };
    }).finally(() => {
      this.#waiting = undefined;
    });
  }

  #end(events: ThreadEvents, reason: string): void {
    this.#waiting?.reject(new Error(reason));
    events.crashed(this, reason);
  }
}
