import { EOF } from 'chevrotain';
import type { IToken } from 'chevrotain';
import { BraceCheck } from './braces.ts';
import { explainMissingEnd, reportMissingEnd, splitAtDirectives, startOfBlock } from './missing-end.ts';
import type { Span } from './source.ts';
import type { DirectiveNode, Word } from './tree.ts';
import type { ParseInput } from './parse-input.ts';
import { readWord } from './words.ts';

const UNEXPECTED = { rule: 'unexpected-token' };

interface CutOff {
  readonly next: Word | undefined;
  /** Whether the text, and no block, ends here. */
  readonly endsText: boolean;
}

interface BlockTokens {
  readonly start: IToken;
  readonly end: IToken | undefined;
  readonly nodes: readonly DirectiveNode[];
}

/** Makes the nodes of one source out of the parser's tokens, and reports what is wrong with them. */
export class TreeBuilder {
  readonly #input: ParseInput;
  readonly #braces: BraceCheck;

  constructor(input: ParseInput) {
    this.#input = input;
    this.#braces = new BraceCheck(input);
  }

  limitDepth(tokens: IToken[]): IToken[] {
    return this.#braces.limitDepth(tokens);
  }

  simple(words: readonly IToken[], end: IToken, into: DirectiveNode[]): void {
    const node = this.#node(this.#read(words), end.startOffset + 1);
    explainMissingEnd(node, end.startOffset, this.#input);
    into.push(node);
  }

  /** There is no node for a block without a name, nor for any block of `-g`. */
  block(tokens: readonly IToken[], { start, end, nodes }: BlockTokens, into: DirectiveNode[]): void {
    const { source, report, isParameter } = this.#input;
    const at = this.#span(start.startOffset, start.startOffset + 1);
    const words = this.#ownWords(this.#read(tokens), into);
    this.#braces.close(words[0]?.span ?? at, end);
    if (words.length === 0) return report.emerg('unexpected "{"', at, UNEXPECTED);
    if (isParameter) return report.emerg('block directives are not supported in -g option', at, UNEXPECTED);
    const node = { ...this.#node(words, end ? end.startOffset + 1 : source.text.length), block: nodes };
    explainMissingEnd(node, at.start, this.#input);
    into.push(node);
  }

  /** A directive that a `}` or the end of the text cut off; it may have swallowed others that lack their `;` too. */
  unterminated(tokens: readonly IToken[], next: IToken, into: DirectiveNode[]): void {
    const endsText = next.tokenType === EOF && this.#braces.depth === 0;
    this.#cutOff(this.#read(tokens), { next: undefined, endsText }, into);
  }

  luaBlock(tokens: readonly IToken[]): void {
    const { value, span } = this.#read(tokens)[0]!;
    this.#input.report.emerg(`unknown directive "${value}"`, span, {
      rule: 'unsupported-module',
      hint: 'gw runs no Lua',
    });
  }

  straySemicolon({ startOffset: start }: IToken): void {
    const span = this.#span(start, start + 1);
    const fix = { title: 'remove ";"', safe: true, edits: [{ span, text: '' }] };
    this.#input.report.emerg('unexpected ";"', span, { ...UNEXPECTED, fix });
  }

  strayBlockEnd(end: IToken): void {
    this.#braces.stray(end);
  }

  enterBlock(): void {
    this.#braces.depth++;
  }

  /** Reports blocks that are still open; true when every brace had its counterpart. */
  finish(): boolean {
    return this.#braces.finish();
  }

  /** The words in front of a `{` that name its block. What stands before them lacks its `;`. */
  #ownWords(words: readonly Word[], into: DirectiveNode[]): readonly Word[] {
    const start = startOfBlock(words, this.#input);
    if (start === 0) return words;
    this.#cutOff(words.slice(0, start), { next: words[start], endsText: false }, into);
    return words.slice(start);
  }

  /** Directives that lack their `;`, and the word that follows them. */
  #cutOff(words: readonly Word[], { next, endsText }: CutOff, into: DirectiveNode[]): void {
    const parts = splitAtDirectives(words, this.#input);
    for (const [index, part] of parts.entries()) {
      const following = parts[index + 1]?.[0] ?? next;
      reportMissingEnd({ words: part, next: following, endsText: endsText && !following }, this.#input);
      into.push(this.#node(part, part.at(-1)!.span.end));
    }
  }

  #read(tokens: readonly IToken[]): Word[] {
    const { source, report, expand } = this.#input;
    return tokens.map((token) => expand(readWord(token, source, report)));
  }

  #node([name, ...args]: readonly Word[], end: number): DirectiveNode {
    return { name: name!, args, span: this.#span(name!.span.start, end) };
  }

  #span(start: number, end: number): Span {
    return { source: this.#input.source, start, end };
  }
}
