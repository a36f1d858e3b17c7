/** The capture groups seen so far, in PCRE's numbering, which is also JavaScript's. */
export class Groups {
  readonly names: string[] = [];
  readonly #numberOf = new Map<string, number>();
  /** By number, from 1; whether every way through the pattern so far has set the group. */
  readonly #isSet: boolean[] = [false];

  get count(): number {
    return this.#isSet.length - 1;
  }

  has(name: string): boolean {
    return this.#numberOf.has(name);
  }

  numberOf(name: string): number | undefined {
    return this.#numberOf.get(name);
  }

  open(name?: string): number {
    const number = this.#isSet.push(false) - 1;
    if (name !== undefined) {
      this.names.push(name);
      this.#numberOf.set(name, number);
    }
    return number;
  }

  close(number: number): void {
    this.#isSet[number] = true;
  }

  /** The groups above `number` lie in a part that may be skipped: an alternative, an optional item, a negative assertion. */
  mayBeUnsetAbove(number: number): void {
    this.#isSet.fill(false, number + 1);
  }

  /** Only then a back-reference means the same: to an unset group PCRE never matches, JavaScript always. */
  isAlwaysSet(number: number): boolean {
    return this.#isSet[number] === true;
  }
}
