import { Session } from 'node:inspector';
import { Worker } from 'node:worker_threads';
import type { BackOff } from './back-off.ts';
import type { FromWorker, ToWorker, WorkerStart } from '../worker/index.ts';

/**
 * Interrupts the JavaScript of a thread in this process; its event loop continues with the next event. Only the
 * debugger can reach a busy thread. It costs nothing until it is used, and does not reach native code.
 */
class Interruption {
  readonly #session = new Session();
  #target: string | undefined;

  /** Finds the thread by its name. A later thread of the same name would be mistaken for this one. */
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

  /** Call this when the thread has ended, but not in an event of the debugger session: Node 20 and 22 would crash. */
  close(): void {
    this.#session.disconnect();
  }
}

/** Events of a worker thread. */
export interface ThreadEvents {
  /** The thread has ended, on its own or on request. */
  exited(thread: WorkerThread): void;
  /** An uncaught error has ended the thread or will end it. If `stays`, the thread serves until it is told to stop. */
  crashed(thread: WorkerThread, reason: string, stays: boolean): void;
}

type WorkerAnswer = Exclude<FromWorker, { type: 'crashed' }>;

interface PendingQuestion {
  readonly resolve: (answer: WorkerAnswer) => void;
  readonly reject: (error: Error) => void;
}

/** Node would end the process because an interrupted timer leaves its entry on the stack of async hooks. */
const NO_HOOKS_CHECKS = '--no-force-async-hooks-checks';

/** Starts a thread with the flags of the process if Node accepts them. It refuses V8's; threads have them anyway. */
function startThread(name: string, start: WorkerStart): Worker {
  const withFlags = (flags: readonly string[]): Worker =>
    new Worker(new URL('../worker/main.cjs', import.meta.url), {
      name,
      workerData: start,
      transferList: start.acceptor ? [start.acceptor] : [],
      execArgv: [...flags, NO_HOOKS_CHECKS],
    });
  try {
    return withFlags(process.execArgv);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_WORKER_INVALID_EXEC_ARGV') throw error;
    return withFlags([]);
  }
}

/** The master's side of one worker thread. */
export class WorkerThread {
  readonly workerId: number;
  readonly isFirst: boolean;
  readonly backOff: BackOff;
  readonly startedMs = performance.now();
  /** True once the thread has been told to stop, so that its end is not a crash. */
  stopping = false;
  /** True once the thread has crashed. Another worker then replaces it. */
  failed = false;
  /** True if another worker replaces the thread before it has ended. */
  replaced = false;
  readonly #worker: Worker;
  /** Pending questions, in the order in which the answers come. */
  readonly #questions: PendingQuestion[] = [];
  #interruption: Interruption | undefined;
  #gone = false;

  /** `backOff` is shared with the workers that this one has replaced. */
  constructor(start: WorkerStart, events: ThreadEvents, backOff: BackOff) {
    this.workerId = start.workerId;
    this.isFirst = start.isFirst;
    this.backOff = backOff;
    this.#worker = startThread(this.#name, start);
    this.#worker.on('message', (message: FromWorker) => {
      if (message.type === 'crashed') this.#fail(events, message.reason, message.stays);
      else this.#questions.shift()?.resolve(message);
    });
    this.#worker.on('error', (error: Error) => this.#fail(events, error.stack ?? error.message, false));
    this.#worker.on('exit', () => {
      this.#gone = true;
      this.#interruption?.close();
      this.#rejectAll(`worker ${this.workerId} exited`);
      events.exited(this);
    });
  }

  /** True while a question is pending. The answer may take long. */
  get isAsked(): boolean {
    return this.#questions.length > 0;
  }

  /** True while the thread is meant to serve: it has neither crashed nor been told to stop. */
  get isSteady(): boolean {
    return !this.failed && !this.stopping;
  }

  /** Interrupts the JavaScript of the thread. The thread then ends as after a crash. */
  interrupt(): void {
    // The message is read when the event loop runs again.
    this.tell({ type: 'interrupted' });
    this.#interruption ??= new Interruption(this.#name);
    this.#interruption.interrupt();
  }

  get #name(): string {
    return `gw worker ${this.workerId}`;
  }

  /** Resolves when the thread serves its first configuration, and rejects if it cannot. Must be the first call. */
  async listening(): Promise<void> {
    const answer = await this.#answer();
    if (answer.type === 'refused') throw new Error(answer.reason);
  }

  /** Sends a message and waits for its answer; rejects if the thread ends first. */
  ask(message: ToWorker): Promise<WorkerAnswer> {
    const answer = this.#answer();
    this.tell(message);
    return answer;
  }

  tell(message: ToWorker): void {
    if (message.type === 'stop') this.stopping = true;
    this.#worker.postMessage(message);
  }

  #answer(): Promise<WorkerAnswer> {
    if (this.#gone) return Promise.reject(new Error(`worker ${this.workerId} exited`));
    return new Promise((resolve, reject) => {
      this.#questions.push({ resolve, reject });
    });
  }

  #fail(events: ThreadEvents, reason: string, stays: boolean): void {
    this.#rejectAll(`worker ${this.workerId} crashed`);
    events.crashed(this, reason, stays);
  }

  #rejectAll(reason: string): void {
    for (const { reject } of this.#questions.splice(0)) reject(new Error(reason));
  }
}
