/** The distinct values of a block: many lines have few. */
export class Values {
  readonly all: string[] = [];
  readonly #indices = new Map<string, number>();

  indexOf(text: string): number {
    const known = this.#indices.get(text);
    if (known !== undefined) return known;
    const index = this.all.push(text) - 1;
    this.#indices.set(text, index);
    return index;
  }
}
