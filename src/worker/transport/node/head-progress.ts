import type { RequestLine } from './request-line.ts';

const LF = 10;
const CR = 13;
/** More of them before a request is no robustness any more. */
const MOST_BLANK_LINES = 8;

/** How far a connection has looked at the head of its next request, so that no byte is looked at again with each packet. */
export class HeadProgress {
  /** The first line, once it is there and good, and where it ends; -1 before. */
  line: RequestLine | undefined = undefined;
  lineEnd = -1;
  /** Bytes in which what is looked for does not stand. */
  searched = 0;
  /** Where the last line begins, the one that is still coming. */
  lastLine = 0;
  private blankLines = 0;

  get hasTooManyBlankLines(): boolean {
    return this.blankLines > MOST_BLANK_LINES;
  }

  /** The next request is another one. */
  reset(): void {
    this.line = undefined;
    this.lineEnd = -1;
    this.searched = this.lastLine = this.blankLines = 0;
  }

  /** A robust server ignores empty lines before the request line (RFC 9112, 2.2): they are taken away as they come. */
  withoutBlankLines(bytes: Buffer): Buffer {
    let start = 0;
    for (let size = blankLineAt(bytes, 0); size > 0; size = blankLineAt(bytes, start)) {
      if (++this.blankLines > MOST_BLANK_LINES) break;
      start += size;
    }
    if (start === 0) return bytes;
    this.searched = 0;
    return bytes.subarray(start);
  }

  /** Finds the end of the first line; -1 while it did not come. */
  findLineEnd(bytes: Buffer): number {
    if (this.lineEnd < 0) {
      this.lineEnd = bytes.indexOf(LF, this.searched);
      this.searched = this.lastLine = this.lineEnd < 0 ? bytes.length : this.lineEnd + 1;
    }
    return this.lineEnd;
  }

  /** Finds what stands behind the empty line that ends the head; -1 while that did not come. */
  findEnd(bytes: Buffer): number {
    // The empty line may have begun with what was looked at before.
    const from = Math.max(this.lineEnd, this.searched - 2);
    const plain = bytes.indexOf('\n\r\n', from);
    const bare = (plain < 0 ? bytes : bytes.subarray(0, plain)).indexOf('\n\n', from);
    if (bare >= 0) return bare + 2;
    if (plain >= 0) return plain + 3;
    this.lastLine = Math.max(
      this.lastLine,
      this.searched + bytes.subarray(this.searched).lastIndexOf(LF) + 1,
    );
    this.searched = bytes.length;
    return -1;
  }
}

/** Length of the empty line at a place; 0 where there is none. */
function blankLineAt(bytes: Buffer, at: number): number {
  if (bytes[at] === LF) return 1;
  return bytes[at] === CR && bytes[at + 1] === LF ? 2 : 0;
}
