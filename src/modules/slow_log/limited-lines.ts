/** Writes lines up to a rate; others are counted, and a line tells their number once a second. */
export class LimitedLines {
  readonly #write: (line: string) => void;
  /** Returns the line that tells how many were suppressed. */
  readonly #lineAbout: (suppressed: number) => string;
  #left = 0;
  #suppressed = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(write: (line: string) => void, lineAbout: (suppressed: number) => string) {
    this.#write = write;
    this.#lineAbout = lineAbout;
  }

  /** Writes a line, unless `perSecond` lines have been written since the first one of this second. */
  write(line: string, perSecond: number): void {
    if (!this.#timer) {
      this.#left = perSecond;
      this.#timer = setTimeout(() => this.flush(), 1_000).unref();
    }
    if (this.#left <= 0) return void this.#suppressed++;
    this.#left--;
    this.#write(line);
  }

  /** Ends the second, and tells the number of lines that it has suppressed. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#suppressed > 0) this.#write(this.#lineAbout(this.#suppressed));
    this.#suppressed = 0;
  }
}
