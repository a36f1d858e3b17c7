/** Writes lines up to a rate; others are counted, and a line tells their number once a second. */
export class LimitedLines {
  readonly #write: (line: string) => void;
  readonly #tell: (suppressed: number) => string;
  #left = 0;
  #suppressed = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(write: (line: string) => void, tell: (suppressed: number) => string) {
    this.#write = write;
    this.#tell = tell;
  }

  /** Writes a line unless so many have been written within this second. */
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
    if (this.#suppressed > 0) this.#write(this.#tell(this.#suppressed));
    this.#suppressed = 0;
  }
}
