import { AcmeFault } from './fault.ts';

const FIRST_MS = 250;
const LONGEST_MS = 8_000;
/** An authority that looks at a resource later than this may as well be asked for another one. */
const LONGEST_ASKED_MS = 60_000;
const MOST_MS = 300_000;

/** Asks for a resource again and again, until it is decided: with `Retry-After`, or else ever more rarely, for 5 minutes. */
export class Patience {
  readonly #signal: AbortSignal;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** Rejects with the kind `undecided` when the patience ends; `what` names the resource in the message. */
  async until<T>(
    what: string,
    {
      ask,
      isOver,
      mostMs = MOST_MS,
    }: {
      readonly ask: () => Promise<{ readonly value: T; readonly retryAfterMs: number | undefined }>;
      readonly isOver: (value: T) => boolean;
      /** A shorter time. */
      readonly mostMs?: number | undefined;
    },
  ): Promise<T> {
    const patienceMs = Math.min(mostMs, MOST_MS);
    const endMs = performance.now() + patienceMs;
    for (let pauseMs = FIRST_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_MS)) {
      const { value, retryAfterMs } = await ask();
      if (isOver(value)) return value;
      const waitMs = Math.min(Math.max(retryAfterMs ?? pauseMs, FIRST_MS), LONGEST_ASKED_MS);
      if (performance.now() + waitMs > endMs)
        throw new AcmeFault(`${what} is still undecided after ${shownTime(patienceMs)}`, {
          kind: 'undecided',
        });
      await this.#pause(waitMs);
    }
  }

  #pause(ms: number): Promise<void> {
    const signal = this.#signal;
    return new Promise((resolve, reject) => {
      const stop = (): void => {
        clearTimeout(timer);
        reject(new AcmeFault('given up', { kind: 'undecided' }));
      };
      const timer = setTimeout(() => {
        signal.removeEventListener('abort', stop);
        resolve();
      }, ms).unref();
      if (signal.aborted) stop();
      else signal.addEventListener('abort', stop);
    });
  }
}

function shownTime(ms: number): string {
  return ms < 120_000 ? `${Math.ceil(ms / 1_000)} seconds` : `${Math.round(ms / 60_000)} minutes`;
}
