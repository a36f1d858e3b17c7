import type { Source } from './source.ts';
import { type Piece, piecesOf } from './words.ts';

/** Options of `formatConfig`. */
interface FormatOptions {
  /** One level of indentation: blanks or a tab. */
  readonly indent: string;
}

/**
 * Returns the configuration in one style: a directive per line, blocks indented, at most one blank line in a row,
 * comments where they were. Words are not changed, and so neither is the meaning. The text must parse.
 */
export function formatConfig(source: Source, { indent }: FormatOptions): string {
  const writer = new Writer(source.text, indent);
  for (const piece of piecesOf(source)) writer.add(piece);
  return writer.finish();
}

/** Returns the shortest text of the same meaning, without comments and needless blanks. The text must parse. */
export function minifyConfig(source: Source): string {
  let text = '';
  let wasWord = false;
  for (const { kind, image } of piecesOf(source)) {
    if (kind === 'comment') continue;
    const isWord = kind === 'word';
    // A `$` makes each `{` that follows it part of the word.
    const needsBlank = wasWord && (isWord || (kind !== ';' && /\$\{*$/.test(text)));
    text += needsBlank ? ` ${image}` : image;
    wasWord = isWord;
  }
  return text;
}

class Writer {
  readonly #text: string;
  readonly #indent: string;
  readonly #lines: string[] = [];
  #line = '';
  #depth = 0;
  /** Offset of the end of the last piece. */
  #end = 0;
  #previous: Piece['kind'] | undefined;

  constructor(text: string, indent: string) {
    this.#text = text;
    this.#indent = indent;
  }

  add(piece: Piece): void {
    const breaks = this.#breaksBefore(piece.start);
    if (piece.kind === 'comment') this.#comment(piece, breaks);
    else if (piece.kind === 'word') this.#word(piece, breaks);
    else this.#mark(piece);
    this.#end = piece.start + piece.image.length;
    this.#previous = piece.kind;
  }

  finish(): string {
    this.#endLine();
    while (this.#lines.at(-1) === '') this.#lines.pop();
    return this.#lines.length === 0 ? '' : `${this.#lines.join('\n')}\n`;
  }

  #comment({ image }: Piece, breaks: number): void {
    const isOpen = this.#line !== '';
    if (isOpen && breaks === 0) {
      this.#line += ` ${image}`;
      this.#isInside = true;
      return this.#endLine();
    }
    if (!isOpen && breaks === 0 && this.#lines.length > 0 && this.#previous !== 'comment') {
      this.#lines.push(`${this.#lines.pop() ?? ''} ${image}`);
      return;
    }
    // The directive is not finished: it continues on the next line.
    if (isOpen) this.#endLine();
    else this.#keepBlankLine(breaks);
    this.#lines.push(this.#indent.repeat(this.#depth + (isOpen ? 1 : 0)) + image);
    this.#isInside = isOpen;
  }

  /** True after a comment between the words of a directive: the remaining words are indented as part of it. */
  #isInside = false;

  #word({ image, start }: Piece, breaks: number): void {
    if (this.#line === '') {
      const isContinued = this.#isInside;
      if (!isContinued) this.#keepBlankLine(breaks);
      this.#line = this.#indent.repeat(this.#depth + (isContinued ? 1 : 0)) + image;
    } else if (breaks > 0) {
      this.#endLine();
      this.#line = this.#indent.repeat(this.#depth + 1) + image;
      this.#isInside = true;
    } else this.#line += start === this.#end ? image : ` ${image}`;
  }

  #mark({ kind, image }: Piece): void {
    if (kind === '}') {
      this.#endLine();
      while (this.#lines.at(-1) === '') this.#lines.pop();
      this.#depth = Math.max(this.#depth - 1, 0);
      const opener = this.#lines.at(-1);
      // An empty block stays on one line.
      if (this.#previous === '{' && opener?.endsWith('{')) this.#lines[this.#lines.length - 1] = `${opener}}`;
      else this.#lines.push(`${this.#indent.repeat(this.#depth)}}`);
      return;
    }
    if (this.#line === '') this.#line = this.#indent.repeat(this.#depth);
    this.#line += kind === ';' ? ';' : ` ${image}`;
    this.#isInside = false;
    this.#endLine();
    if (kind === '{') this.#depth++;
  }

  #endLine(): void {
    if (this.#line !== '') this.#lines.push(this.#line);
    this.#line = '';
  }

  /** Writes one blank line for any number of them, except at the start of a block. */
  #keepBlankLine(breaks: number): void {
    const last = this.#lines.at(-1);
    if (breaks > 1 && last !== undefined && last !== '' && this.#previous !== '{') this.#lines.push('');
  }

  #breaksBefore(start: number): number {
    let breaks = 0;
    for (let at = this.#end; at < start; at++) if (this.#text.charCodeAt(at) === 0x0a) breaks++;
    return breaks;
  }
}
