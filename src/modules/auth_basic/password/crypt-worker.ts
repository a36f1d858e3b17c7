import { Worker } from 'node:worker_threads';
import type { CryptOrder } from './crypt-thread.ts';

type Computed = string | undefined;

/** Computes the forms of crypt(3) in a thread of its own: a wrong guess costs up to a quarter of a second. One at a time. */
export class CryptWorker {
  #thread: Worker | undefined;
  #pending:
    { readonly resolve: (computed: Computed) => void; readonly reject: (error: Error) => void } | undefined;

  /** Starts the thread when it is first needed, and again after it has failed. */
  compute(order: CryptOrder): Promise<Computed> {
    const thread = (this.#thread ??= this.#start());
    return new Promise((resolve, reject) => {
      this.#pending = { resolve, reject };
      thread.postMessage(order);
    });
  }

  close(): void {
    void this.#thread?.terminate();
    this.#thread = undefined;
  }

  #start(): Worker {
    const thread = new Worker(new URL('../modules/auth_basic/password/crypt-thread.js', import.meta.url));
    thread.on('message', (computed: Computed) => this.#pending?.resolve(computed));
    thread.on('error', (error) => this.#fail(error));
    thread.on('exit', (code) => this.#fail(new Error(`the thread for passwords ended with ${code}`)));
    thread.unref();
    return thread;
  }

  #fail(error: Error): void {
    this.#thread = undefined;
    this.#pending?.reject(error);
  }
}
