import type { Piece } from '../pieces.ts';
import { piecesOf } from '../pieces.ts';
import { placeOf } from '../source.ts';
import type { Source } from '../source.ts';
import type { Statement } from './payload.ts';

/** Which statements are wanted. */
export interface StatementOptions {
  readonly comments: boolean;
  /** Directives that are left out, with their blocks. */
  readonly ignore: ReadonlySet<string>;
}

/** The directives of one text as crossplane names them; `include` is one of them. The text must parse. */
export function statementsOf(source: Source, options: StatementOptions): readonly Statement[] {
  return new Reader(source, options).block();
}

class Reader {
  readonly #source: Source;
  readonly #options: StatementOptions;
  readonly #pieces: readonly Piece[];
  #next = 0;

  constructor(source: Source, options: StatementOptions) {
    this.#source = source;
    this.#options = options;
    this.#pieces = piecesOf(source);
  }

  /** To its `}`, or to the end of the text. */
  block(): readonly Statement[] {
    const statements: Statement[] = [];
    for (let piece = this.#take(); piece && piece.kind !== '}'; piece = this.#take()) {
      if (piece.kind === 'comment') this.#addComment(piece, statements);
      else if (piece.kind === 'word') this.#directive(piece, statements);
    }
    return statements;
  }

  #directive(name: Piece, into: Statement[]): void {
    const words: Piece[] = [];
    const inside: Statement[] = [];
    let end = this.#take();
    for (; end?.kind === 'word' || end?.kind === 'comment'; end = this.#take()) {
      if (end.kind === 'word') words.push(end);
      else this.#addComment(end, inside);
    }
    const block = end?.kind === '{' ? this.block() : undefined;
    if (this.#options.ignore.has(name.value)) return;
    const args = words.map(({ value }) => value);
    into.push({
      directive: name.value,
      line: this.#lineOf(name),
      args: name.value === 'if' ? withoutParentheses(args) : args,
      ...(block && { block }),
    });
    into.push(...inside);
  }

  #addComment(piece: Piece, into: Statement[]): void {
    if (!this.#options.comments) return;
    into.push({ directive: '#', line: this.#lineOf(piece), args: [], comment: piece.value.slice(1) });
  }

  #take(): Piece | undefined {
    return this.#pieces[this.#next++];
  }

  #lineOf({ start }: Piece): number {
    return placeOf({ source: this.#source, start, end: start }).line;
  }
}

/** crossplane gives the condition of an `if` without its brackets. */
function withoutParentheses(args: readonly string[]): readonly string[] {
  const text = [...args];
  if (text[0]?.startsWith('(') !== true || text.at(-1)?.endsWith(')') !== true) return args;
  text[0] = text[0].slice(1);
  text.push((text.pop() as string).slice(0, -1));
  return text.filter((word) => word !== '');
}
