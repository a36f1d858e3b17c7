const PIECE_CHARACTERS = 65_536;

/** Writes the members of a JSON object as bytes, so that no large text has to be encoded at the end. */
export class MemberWriter {
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

  /** Adds a nested object, whose members must be complete. */
  addMembers(name: string, members: MemberWriter): void {
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
