import { EOF, type IToken } from 'chevrotain';
import type { Fault, Report } from './diagnostic.ts';
import { indentAt, placeOf, type Source, type Span } from './source.ts';
import { BlockEnd, BlockStart } from './tokens.ts';
import { type DirectiveNode, printableWord, type Word } from './tree.ts';
import { readWord } from './words.ts';

/** One source to parse, and the context that the parser needs. */
export interface ParseInput {
  readonly source: Source;
  readonly report: Report;
  /** Tells whether any context has a directive of this name, to locate a missing `;`. */
  readonly knownDirective: (name: string) => boolean;
  /** Tells whether any context has a block of this name. */
  readonly opensBlock: (name: string) => boolean;
  /** Replaces `${env:…}` and `${file:…}`. */
  readonly expand: (word: Word) => Word;
  /** True for the text of `-g`, in which nginx allows no blocks. */
  readonly isParameter: boolean;
  /** Number of blocks around the `include` that reads this source. */
  readonly depth: number;
}

/** nginx has no such limit. gw has one because every later stage walks the tree by recursion. */
const MAX_BLOCK_DEPTH = 100;

/** A `}` whose indent differs from that of the block it closes: a brace is probably missing or superfluous near it. */
interface Misfit {
  readonly block: Span;
  readonly end: Span;
}

/** Tracks the braces of one source: their depth, unmatched braces, and braces that look misplaced. */
class BraceCheck {
  depth = 0;
  readonly #input: ParseInput;
  #isBalanced = true;
  #end = 0;
  /** The innermost block that is still open. */
  #open: Span | undefined;
  #closedTooEarly: Misfit | undefined;
  #closedTooLate: Misfit | undefined;

  constructor(input: ParseInput) {
    this.#input = input;
  }

  /** Returns the tokens without blocks that are nested too deep for recursion. */
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

  /** Closes the block that starts at `block`; `end` is absent if the text ended first. */
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

  /** Reports the block that is still open; true if every brace has its counterpart. */
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

/*
 * Locating a missing `;`: in nginx's syntax arguments may continue in the next line, and any word may be an argument.
 * The text alone proves a missing `;` only where a `}` or the end of the text follows the words, or a `{` that the
 * first of them cannot have. There, a word that starts a line and is the name of a directive starts that directive, and
 * the line before it lacks the `;`.
 *
 * Elsewhere (`listen 80` LF `server_name a;`) the words are one directive, which may be valid, so nothing is reported.
 * If a line in it starts with the name of a directive and is not indented deeper than the directive itself, the report
 * gets an explanation: if a later stage refuses a word of this directive, the missing `;` is reported as the fault.
 * No configuration is refused for its line breaks alone.
 */

/** Splits the words of an unterminated directive at the names of directives. */
function splitAtDirectives(words: readonly Word[], { knownDirective }: ParseInput): Word[][] {
  const parts: Word[][] = [];
  for (const word of words) {
    const startsDirective = word.quote === '' && indentOf(word) !== undefined && knownDirective(word.value);
    if (parts.length === 0 || startsDirective) parts.push([word]);
    else parts.at(-1)!.push(word);
  }
  return parts;
}

/**
 * Returns the index of the word that names the block in front of a `{`: the first word or, if that cannot name a block,
 * the last one that starts a line and can. The words are refused in any case, so those before the name lack their `;`.
 */
function startOfBlock([first, ...more]: readonly Word[], { opensBlock }: ParseInput): number {
  if (!first || opensBlock(first.value)) return 0;
  const startsBlock = (word: Word) =>
    word.quote === '' && indentOf(word) !== undefined && opensBlock(word.value);
  return more.findLastIndex(startsBlock) + 1;
}

/** Reports the missing `;` at the end of the words that lack it. */
function reportMissingEnd(
  { words, next, endsText }: { words: readonly Word[]; next: Word | undefined; endsText: boolean },
  { report, isParameter }: ParseInput,
): void {
  const { message, span, hint, ...details } = missingEnd(words[0]!, words.at(-1)!, next);
  if (!endsText) report.emerg(message, span, { hint, ...details });
  else if (isParameter) report.emerg('unexpected end of parameter, expecting ";"', span, details);
  else report.emerg('unexpected end of file, expecting ";" or "}"', span, { hint, ...details });
}

/** Adds an explanation to the report for a directive whose words, up to `end`, look like two directives. */
function explainMissingEnd({ name, args }: DirectiveNode, end: number, input: ParseInput): void {
  const at = startOfNext({ name, args }, input.knownDirective);
  if (at < 0) return;
  const range = { source: input.source, start: name.span.start, end };
  input.report.explain(range, missingEnd(name, args[at - 1] ?? name, args[at]));
}

/** Returns the index of the argument that most likely is the name of the next directive; -1 if none is. */
export function startOfNext(
  { name, args }: Pick<DirectiveNode, 'name' | 'args'>,
  knownDirective: (name: string) => boolean,
): number {
  if (!knownDirective(name.value)) return -1;
  const limit = indentOf(name) ?? Infinity;
  return args.findIndex((word) => {
    const indent = indentOf(word);
    return word.quote === '' && indent !== undefined && indent <= limit && knownDirective(word.value);
  });
}

function missingEnd(name: Word, last: Word, next: Word | undefined): Fault {
  const { source, end } = last.span;
  const span = { source, start: end, end };
  return {
    severity: 'emerg',
    message: `directive "${printableWord(name)}" is not terminated by ";"`,
    span,
    rule: 'missing-semicolon',
    hint: next ? `add ";" here, "${next.value}" starts the next directive` : 'add ";" here',
    fix: { title: 'add ";"', safe: true, edits: [{ span, text: ';' }] },
  };
}

function indentOf({ span }: Word): number | undefined {
  return indentAt(span.source.text, span.start);
}

const UNEXPECTED = { rule: 'unexpected-token' };

interface CutOff {
  readonly next: Word | undefined;
  /** True if the text ends here, false if a block does. */
  readonly endsText: boolean;
}

interface BlockTokens {
  readonly start: IToken;
  readonly end: IToken | undefined;
  readonly nodes: readonly DirectiveNode[];
}

/** Builds the nodes of one source from the parser's tokens and reports their faults. */
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

  /** Adds a block. A block without a name, and any block of `-g`, gets no node. */
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

  /** Adds a directive that ends at a `}` or at the end of the text; it may contain others that lack their `;`. */
  unterminated(tokens: readonly IToken[], next: IToken, into: DirectiveNode[]): void {
    const endsText = next.tokenType === EOF && this.#braces.depth === 0;
    this.#cutOff(this.#read(tokens), { next: undefined, endsText }, into);
  }

  /** Adds a directive with Lua in place of a block, which is not read. */
  luaBlock(tokens: readonly IToken[], lua: IToken, into: DirectiveNode[]): void {
    const end = lua.startOffset + lua.image.length;
    into.push({ ...this.#node(this.#read(tokens), end), block: [] });
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

  /** Reports blocks that are still open; true if every brace has its counterpart. */
  finish(): boolean {
    return this.#braces.finish();
  }

  /** Returns the words in front of a `{` that belong to its block. Words before them lack their `;`. */
  #ownWords(words: readonly Word[], into: DirectiveNode[]): readonly Word[] {
    const start = startOfBlock(words, this.#input);
    if (start === 0) return words;
    this.#cutOff(words.slice(0, start), { next: words[start], endsText: false }, into);
    return words.slice(start);
  }

  /** Adds directives that lack their `;`, given the word that follows them. */
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
