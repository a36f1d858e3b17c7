interface Prepared {
  readonly text: string;
  readonly name: string;
  parsed: boolean;
}

/**
 * Which statements one session has prepared, the least recently used going first. A statement counts only once the
 * server said ParseComplete: what stands behind an error in a batch was never parsed.
 */
export class StatementNames {
  readonly #limit: number;
  readonly #byText = new Map<string, Prepared>();
  /** Parse messages under way, in the order in which ParseComplete will come. */
  readonly #parsing: Prepared[] = [];
  /** Forgotten, and still to be closed on the server. */
  #forgotten: string[] = [];
  #count = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The name for a text; `parse` is true when it must be sent first. */
  use(text: string): { readonly name: string; readonly parse: boolean } {
    const known = this.#byText.get(text);
    const prepared = known ?? { text, name: `gw${(this.#count += 1)}`, parsed: false };
    this.#byText.delete(text);
    this.#byText.set(text, prepared);
    if (!known) this.#parsing.push(prepared);
    return { name: prepared.name, parse: !known };
  }

  /** A name to be closed on the server: of a statement that was forgotten, or one beyond the limit, which is now. */
  evict(): string | undefined {
    const forgotten = this.#forgotten.pop();
    if (forgotten !== undefined) return forgotten;
    if (this.#byText.size <= this.#limit) return undefined;
    const [oldest] = this.#byText.values();
    this.#byText.delete((oldest as Prepared).text);
    return (oldest as Prepared).name;
  }

  /** Forgets all: each is parsed again under a new name. */
  forget(): void {
    for (const { name } of this.#byText.values()) this.#forgotten.push(name);
    this.#byText.clear();
  }

  parseComplete(): void {
    const prepared = this.#parsing.shift();
    if (prepared) prepared.parsed = true;
  }

  /** The batch is over: what was not parsed by now never was. */
  batchEnded(): void {
    for (const prepared of this.#parsing.splice(0)) this.#byText.delete(prepared.text);
  }
}
