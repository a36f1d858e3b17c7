import type { ErrorLog } from '../../log/index.ts';
import type { CatalogueShare } from './schema/index.ts';
import type { Hearing } from './session/index.ts';

/** PostgREST's channel, and gw's own. */
const CHANNELS = ['pgrst', 'gw'];
/** So long the first look at the schema waits for somebody to listen; what changes in between would be missed. */
const LONGEST_START_MS = 1_000;

export interface WatchOptions {
  /** As the log names the database. */
  readonly name: string;
  readonly log: ErrorLog;
  readonly share: CatalogueShare;
  /** Opens a listening session. */
  readonly listen: (hearing: Hearing) => { close(): Promise<void> };
  readonly refresh: () => void;
}

/**
 * Reads the schema again when the database says that it has changed. One worker of the process listens for all; when it
 * goes, another takes its place.
 */
export class Watch {
  readonly #options: WatchOptions;
  /** Resolves when it listens, or will not do so soon. */
  readonly started: Promise<void>;
  #listener: { close(): Promise<void> } | undefined;
  #start = (): void => undefined;
  #isRefused = false;

  constructor(options: WatchOptions) {
    this.#options = options;
    this.started = new Promise((resolve) => {
      const timer = setTimeout(resolve, LONGEST_START_MS).unref();
      this.#start = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    options.share.whenVacant(() => this.#begin());
    if (!this.#begin()) this.#start();
  }

  async close(): Promise<void> {
    await this.#listener?.close();
    this.#options.share.leave();
  }

  #begin(): boolean {
    const { share, listen } = this.#options;
    if (this.#listener || !share.claimListening()) return false;
    this.#listener = listen({
      channels: CHANNELS,
      listening: () => this.#listening(),
      failed: () => this.#start(),
      refused: (error) => this.#tellRefused(error),
      heard: (payload) => this.#heard(payload),
    });
    return true;
  }

  /** What was read before nobody may rely on: its change may have been announced to nobody. */
  #listening(): void {
    const { share, refresh } = this.#options;
    this.#isRefused = false;
    if (share.hasRead) refresh();
    this.#start();
  }

  #heard(payload: string): void {
    const { log, name, refresh } = this.#options;
    if (payload === 'reload config') {
      log.write('notice', `dbrest: "reload config" from ${name} is ignored: the configuration is in a file`);
    } else if (payload === 'reload schema' || payload === '') {
      log.write('info', `dbrest: the schema of ${name} is read again, as it asks`);
      refresh();
    }
  }

  #tellRefused({ message }: Error): void {
    const { log, name } = this.#options;
    if (!this.#isRefused) log.write('warn', `dbrest: cannot listen to ${name}: ${message}; trying again`);
    this.#isRefused = true;
  }
}
