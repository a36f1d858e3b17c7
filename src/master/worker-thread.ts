import { Session } from 'node:inspector';
import { Worker } from 'node:worker_threads';
import type { FromWorker, ToWorker, WorkerStart } from '../worker/index.ts';

/**
 * Breaks off the JavaScript that a thread of this process runs; its event loop goes on with whatever comes next. The only
 * way into a busy thread is the debugger's; it costs nothing until it is used, and does not reach code outside of
 * JavaScript.
 */
class Interruption {
  readonly #session = new Session();
  #target: string | undefined;

  /** By the name of the thread; one that starts later under the same name would be taken for it. */
  constructor(threadName: string) {
    this.#session.connect();
    this.#session.on('NodeWorker.attachedToWorker', ({ params: { sessionId, workerInfo } }) => {
      if (workerInfo.title.endsWith(threadName)) this.#target = sessionId;
    });
    this.#session.post('NodeWorker.enable', { waitForDebuggerOnStart: false });
  }

  interrupt(): void {
    if (this.#target === undefined) return;
    const message = JSON.stringify({ id: 1, method: 'Runtime.terminateExecution' });
    this.#session.post('NodeWorker.sendMessageToWorker', { sessionId: this.#target, message });
  }

  /** To be called when the thread is gone. Within an event of the session this would crash Node 20 and 22. */
  close(): void {
    this.#session.disconnect();
  }
}

/** What a thread tells while it lives. */
export interface ThreadEvents {
  /** It is gone, on its own or because it was told to. */
  exited(thread: WorkerThread): void;
  /** Something that nobody caught ended it. */
  crashed(thread: WorkerThread, reason: string): void;
}

type WorkerAnswer = Exclude<FromWorker, { type: 'crashed' }>;

interface Question {
  readonly resolve: (reply: WorkerAnswer) => void;
  readonly reject: (error: Error) => void;
}

/** The master's side of one worker thread. */
export class WorkerThread {
  readonly workerId: number;
  readonly startedMs = performance.now();
  /** True from the moment it was told to stop: its end is no accident. */
  stopping = false;
  readonly #worker: Worker;
  /** Answers come in this order. */
  readonly #questions: Question[] = [];
  #interruption: Interruption | undefined;
  #gone = false;

  constructor(start: WorkerStart, events: ThreadEvents) {
    this.workerId = start.workerId;
    this.#worker = new Worker(new URL('../worker/main.js', import.meta.url), {
      name: this.#name,
      workerData: start,
      transferList: start.acceptor ? [start.acceptor] : [],
      // A timer that is broken off leaves its entry on the stack of hooks behind; Node would end the process for that.
      execArgv: [...process.execArgv, '--no-force-async-hooks-checks'],
    });
    this.#worker.on('message', (message: FromWorker) => {
      if (message.type === 'crashed') this.#fail(events, message.reason);
      else this.#questions.shift()?.resolve(message);
    });
    this.#worker.on('error', (error: Error) => this.#fail(events, error.stack ?? error.message));
    this.#worker.on('exit', () => {
      this.#gone = true;
      this.#interruption?.close();
      this.#rejectAll(`worker ${this.workerId} exited`);
      events.exited(this);
    });
  }

  /** It has something to do that may take long. */
  get isAsked(): boolean {
    return this.#questions.length > 0;
  }

  /** Breaks off what its JavaScript is busy with. It ends then, as after a crash. */
  interrupt(): void {
    // Waits until the event loop turns again.
    this.tell({ type: 'interrupted' });
    this.#interruption ??= new Interruption(this.#name);
    this.#interruption.interrupt();
  }

  get #name(): string {
    return `gw worker ${this.workerId}`;
  }

  /** To be called first: resolves when the first configuration is served, and fails when it cannot be. */
  async listening(): Promise<void> {
    const reply = await this.#reply();
    if (reply.type === 'refused') throw new Error(reply.reason);
  }

  /** Sends a message and waits for its answer; fails when the thread ends first. */
  ask(message: ToWorker): Promise<WorkerAnswer> {
    const reply = this.#reply();
    this.tell(message);
    return reply;
  }

  tell(message: ToWorker): void {
    if (message.type === 'stop') this.stopping = true;
    this.#worker.postMessage(message);
  }

  #reply(): Promise<WorkerAnswer> {
    if (this.#gone) return Promise.reject(new Error(`worker ${this.workerId} exited`));
    return new Promise((resolve, reject) => {
      this.#questions.push({ resolve, reject });
    });
  }

  #fail(events: ThreadEvents, reason: string): void {
    this.#rejectAll(`worker ${this.workerId} crashed`);
    events.crashed(this, reason);
  }

  #rejectAll(reason: string): void {
    for (const { reject } of this.#questions.splice(0)) reject(new Error(reason));
  }
}
