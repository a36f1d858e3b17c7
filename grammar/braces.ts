import type { IToken } from 'chevrotain';
import type { ParseInput } from './parse-input.ts';
import type { Span } from './source.ts';
import { indentAt, placeOf } from './source.ts';
import { BlockEnd, BlockStart } from './tokens.ts';

/** nginx has no such limit; every later stage walks the tree by recursion. */
export const MAX_BLOCK_DEPTH = 100;

/** A `}` whose indent is not that of the block it closes: where a brace most likely is missing or too many. */
interface Misfit {
  readonly block: Span;
  readonly end: Span;
}

/** Watches the braces of one source: how deep they nest, which have no counterpart, and which look misplaced. */
export class BraceCheck {
  depth = 0;
  readonly #input: ParseInput;
  #isBalanced = true;
  #end = 0;
  /** The innermost block that the end of the text leaves open. */
  #open: Span | undefined;
  #closedTooEarly: Misfit | undefined;
  #closedTooLate: Misfit | undefined;

  constructor(input: ParseInput) {
    this.#input = input;
  }

  /** Cuts out what is nested too deep, before recursion meets it. */
  limitDepth(tokens: IToken[]): IToken[] {
    const last = tokens.at(-1);
    this.#end = last ? last.startOffset + last.image.length : 0;
    let depth = this.#input.depth;
    let isTooDeep = false;
    const kept: IToken[] = [];
    for (const token of tokens) {
      if (token.tokenType === BlockEnd && depth > 0) depth--;
      if (depth <= MAX_BLOCK_DEPTH) kept.push(token);
      if (token.tokenType === BlockStart && ++depth > MAX_BLOCK_DEPTH && !isTooDeep) {
        isTooDeep = true;
        const message = `blocks are nested deeper than ${MAX_BLOCK_DEPTH} levels`;
        this.#input.report.emerg(message, this.#spanOf(token), { rule: 'unexpected-token' });
      }
    }
    return kept;
  }

  /** Takes leave of the block that starts at `block`; without an `end` the text ended first. */
  close(block: Span, end: IToken | undefined): void {
    this.depth--;
    if (!end) {
      this.#open ??= block;
      return;
    }
    const text = this.#input.source.text;
    const inner = indentAt(text, end.startOffset);
    const outer = indentAt(text, block.start);
    if (inner === undefined || outer === undefined || inner === outer) return;
    const misfit = { block, end: this.#spanOf(end) };
    if (inner < outer) this.#closedTooEarly ??= misfit;
    else this.#closedTooLate ??= misfit;
  }

  stray(end: IToken): void {
    this.#isBalanced = false;
    const misfit = this.#closedTooLate;
    const hint = misfit && `the "}" in line ${placeOf(misfit.end).line} closes ${describe(misfit.block)}`;
    const related = misfit && [
      { span: misfit.block, label: 'opened here' },
      { span: misfit.end, label: 'closed here, farther to the right' },
    ];
    this.#input.report.emerg('unexpected "}"', this.#spanOf(end), {
      rule: 'unexpected-token',
      hint,
      related,
    });
  }

  /** Reports what is still open; true when every brace had its counterpart. */
  finish(): boolean {
    if (this.#open) {
      this.#isBalanced = false;
      const end = { source: this.#input.source, start: this.#end, end: this.#end };
      const block = this.#closedTooEarly?.block ?? this.#open;
      this.#input.report.emerg('unexpected end of file, expecting "}"', end, {
        rule: 'unclosed-block',
        hint: `${describe(block)} has no "}"`,
        related: [{ span: block, label: 'opened here, never closed' }],
      });
    }
    return this.#isBalanced;
  }

  #spanOf({ startOffset: start, image }: IToken): Span {
    return { source: this.#input.source, start, end: start + image.length };
  }
}

function describe(block: Span): string {
  const { text } = block.source;
  return `"${text.slice(block.start, block.end)}" of line ${placeOf(block).line}`;
}
