const PIECE_CHARACTERS = 65_536;

/** The members of a JSON object, as bytes from the start: nothing large has to be gone through in one go at the end. */
export class Members {
  readonly #pieces: Buffer[] = [];
  #text = '';
  #isEmpty = true;

  add(name: string, value: object): void {
    this.#begin(name);
    this.#text += JSON.stringify(value);
    if (this.#text.length > PIECE_CHARACTERS) this.#flush();
  }

  addAll(entries: Iterable<readonly [name: string, value: object]>): void {
    for (const [name, value] of entries) this.add(name, value);
  }

  /** An object that has these members, and gets no more. */
  addMembers(name: string, members: Members): void {
    this.#begin(name);
    this.#text += '{';
    this.#flush();
    this.#pieces.push(...members.pieces());
    this.#text += '}';
  }

  pieces(): readonly Buffer[] {
    this.#flush();
    return this.#pieces;
  }

  #begin(name: string): void {
    this.#text += `${this.#isEmpty ? '' : ','}${JSON.stringify(name)}:`;
    this.#isEmpty = false;
  }

  #flush(): void {
    this.#pieces.push(Buffer.from(this.#text));
    this.#text = '';
  }
}
