import { type Level, LEVELS, type LogContext } from './error-line.ts';

/** Writes one line. */
type WriteLine = (level: Level, message: string) => void;

const FROM = LEVELS.indexOf('error');
/** Lines of this level and above are equal whatever request they are about. */
const FROM_OF_REQUESTS = LEVELS.indexOf('crit');
const TO = LEVELS.indexOf('alert');
/** Messages of one second; more of them than this are all written. */
const MAX_MESSAGES = 64;
const INTERVAL_MS = 1_000;

interface Repeated {
  readonly level: Level;
  readonly message: string;
  count: number;
}

/**
 * Equal messages of the levels `error`, `crit` and `alert`: the first one is written, those that follow it within a second
 * are counted, and a line tells their number (as syslog daemons do). Lines of level `error` about a request are not held
 * back, since each has a request of its own; nor those of level `emerg`: each of them is about a load or a start.
 */
export class RepeatedLines {
  readonly #write: WriteLine;
  readonly #messages = new Map<string, Repeated>();
  #timer: NodeJS.Timeout | undefined;

  constructor(write: WriteLine) {
    this.#write = write;
  }

  /** Returns true if the message repeats another one, and is counted instead of written. */
  holds(level: Level, message: string, context?: LogContext): boolean {
    const severity = LEVELS.indexOf(level);
    if (severity < (context ? FROM_OF_REQUESTS : FROM) || severity > TO) return false;
    const key = `${level} ${message}`;
    const known = this.#messages.get(key);
    if (known) {
      known.count++;
      return true;
    }
    if (this.#messages.size < MAX_MESSAGES) this.#messages.set(key, { level, message, count: 0 });
    this.#timer ??= setInterval(() => this.flush(), INTERVAL_MS).unref();
    return false;
  }

  /** Writes the counts, and forgets messages that were not repeated. */
  flush(): void {
    for (const [key, repeated] of this.#messages) {
      const { level, message, count } = repeated;
      repeated.count = 0;
      if (count === 0) this.#messages.delete(key);
      else this.#write(level, `message repeated ${count} times: "${message}"`);
    }
    if (this.#messages.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Writes the counts and stops counting. */
  close(): void {
    this.flush();
    this.#messages.clear();
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
