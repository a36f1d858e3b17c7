import { Session } from 'node:inspector';

/**
 * Breaks off the JavaScript that a thread of this process runs; its event loop goes on with whatever comes next. The only
 * way into a busy thread is the debugger's; it costs nothing until it is used, and does not reach code outside of
 * JavaScript.
 */
export class Interruption {
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
