interface Piece {
  /** A text, or the number of lines in what is compressed. */
  readonly lines: string | number;
  readonly bytes: number;
}

/** What was given to a file and is not written yet, so that lines can be counted that never are. */
export class PendingLines {
  /** The oldest comes first. */
  readonly #pieces: Piece[] = [];
  /** Bytes of the first piece that are written. */
  #written = 0;

  add(piece: string | Buffer, lines: string | number): void {
    this.#pieces.push({ lines, bytes: Buffer.byteLength(piece) });
  }

  /** Takes the last piece back, and returns the number of its lines. */
  takeBack(): number {
    const last = this.#pieces.pop();
    return last ? linesOf(last, 0) : 0;
  }

  written(bytes: number): void {
    this.#written += bytes;
    for (let first = this.#pieces[0]; first && this.#written >= first.bytes; first = this.#pieces[0]) {
      this.#written -= first.bytes;
      this.#pieces.shift();
    }
  }

  /** The number of lines that are not written as a whole. */
  get count(): number {
    return this.#pieces.reduce(
      (sum, piece, index) => sum + linesOf(piece, index === 0 ? this.#written : 0),
      0,
    );
  }
}

function linesOf({ lines }: Piece, writtenBytes: number): number {
  if (typeof lines === 'number') return lines;
  return linesIn(writtenBytes === 0 ? lines : Buffer.from(lines).toString('utf8', writtenBytes));
}

export function linesIn(text: string): number {
  return text.split('\n').length - 1;
}
