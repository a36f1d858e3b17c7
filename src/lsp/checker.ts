import { Worker } from 'node:worker_threads';
import type { Finding } from '../pipeline.ts';
import type { CheckJob } from './check.ts';

/** What the thread answers: what it found, or what went wrong. */
export type CheckReply = { readonly findings: readonly Finding[] } | { readonly failed: string };

/** No configuration that people write takes so long; a thread that does is given up. */
const MAX_CHECK_MS = 60_000;

interface Pending {
  readonly resolve: (findings: readonly Finding[]) => void;
  readonly reject: (error: unknown) => void;
  readonly timer: NodeJS.Timeout;
}

/** Checks in a thread of its own, one configuration at a time: however long it takes, the editor is answered. */
export class Checker {
  #worker: Worker | undefined;
  #pending: Pending | undefined;

  /** Fails when the check does, or when it takes too long; the next one has a new thread then. */
  check(job: CheckJob): Promise<readonly Finding[]> {
    this.#worker ??= this.#start();
    this.#worker.postMessage(job);
    return new Promise((resolve, reject) => {
      const tooLong = new Error(`it took more than ${MAX_CHECK_MS} ms`);
      const timer = setTimeout(() => this.#giveUp(tooLong), MAX_CHECK_MS);
      this.#pending = { resolve, reject, timer };
    });
  }

  stop(): void {
    const worker = this.#worker;
    this.#worker = undefined;
    void worker?.terminate();
    clearTimeout(this.#pending?.timer);
  }

  #start(): Worker {
    // Standard output belongs to the protocol, whoever writes: the thread's own goes nowhere.
    const worker = new Worker(new URL('../lsp/check-thread.js', import.meta.url), {
      stdout: true,
      stderr: true,
    });
    worker.on('message', (reply: CheckReply) => {
      clearTimeout(this.#pending?.timer);
      if ('findings' in reply) this.#pending?.resolve(reply.findings);
      else this.#pending?.reject(new Error(reply.failed));
    });
    worker.on('error', (error) => this.#giveUp(error));
    worker.on('exit', (code) => {
      if (worker === this.#worker) this.#giveUp(new Error(`the thread ended with ${code}`));
    });
    worker.unref();
    return worker;
  }

  #giveUp(reason: unknown): void {
    this.stop();
    this.#pending?.reject(reason);
  }
}
