import { dirname, isAbsolute, join, resolve } from 'node:path';
import { systemFailure } from '../src/system/index.ts';
import type { Fault } from './diagnostic.ts';
import { decodeText, globPaths, isGlob, MAX_TOTAL_BYTES, readFileBytes } from './files.ts';
import { MAX_FILES } from './load-tree.ts';
import { checkSyntax } from './parser.ts';
import { placeOf, type Source } from './source.ts';
import { type Piece, piecesOf } from './words.ts';

/** One directive of crossplane's JSON; a comment is the directive `#`. */
export interface Statement {
  readonly directive: string;
  /** Counted from 1. */
  readonly line: number;
  readonly args: readonly string[];
  readonly block?: readonly Statement[];
  /** Text after the `#`. */
  readonly comment?: string;
  /** The files that an `include` reads, as indexes into `config`. */
  readonly includes?: readonly number[];
  /** In a combined payload: the file that the directive comes from. */
  readonly file?: string;
}

interface PayloadError {
  readonly error: string;
  readonly line: number | null;
  /** The hint of the fault. */
  readonly callback?: string;
}

/** One file of crossplane's JSON. */
interface PayloadFile {
  readonly file: string;
  readonly status: 'ok' | 'failed';
  readonly errors: readonly PayloadError[];
  readonly parsed: readonly Statement[];
}

/** The payload that `crossplane parse` prints and `crossplane build` reads. */
export interface Payload {
  readonly status: 'ok' | 'failed';
  readonly errors: readonly (PayloadError & { readonly file: string })[];
  readonly config: readonly PayloadFile[];
}

/** Options of `statementsOf`. */
interface StatementOptions {
  readonly comments: boolean;
  /** Names of directives to leave out, together with their blocks. */
  readonly ignore: ReadonlySet<string>;
}

/** Returns the directives of one text in crossplane's form; `include` is kept as a directive. The text must parse. */
function statementsOf(source: Source, options: StatementOptions): readonly Statement[] {
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

  /** Reads up to the closing `}` of the block, or to the end of the text. */
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

/** Returns the words of an `if` without the brackets of its condition, as crossplane prints them. */
function withoutParentheses(args: readonly string[]): readonly string[] {
  const text = [...args];
  if (text[0]?.startsWith('(') !== true || text.at(-1)?.endsWith(')') !== true) return args;
  text[0] = text[0].slice(1);
  text.push((text.pop() as string).slice(0, -1));
  return text.filter((word) => word !== '');
}

/** Options of `crossplane parse`. */
export interface ParseOptions {
  readonly comments: boolean;
  readonly ignore: ReadonlySet<string>;
  /** True: included files are not read. */
  readonly singleFile: boolean;
  /** True: the payload has a single file in which the included directives replace the includes. */
  readonly combine: boolean;
  /** True: the payload contains the hints of faults. */
  readonly hints: boolean;
  /** Faults that later stages have found; the grammar's own are added to them. */
  readonly faults: readonly Fault[];
}

interface MutableFile {
  file: string;
  status: 'ok' | 'failed';
  errors: PayloadError[];
  parsed: readonly Statement[];
}

/** Returns the payload of a configuration: every file once, each `include` with the indexes of its files. */
export function parsePayload(file: string, options: ParseOptions): Payload {
  const parsing = new Parsing(file, options);
  parsing.run();
  return parsing.payload();
}

class Parsing {
  readonly #options: ParseOptions;
  readonly #directory: string;
  readonly #files: MutableFile[] = [];
  readonly #places = new Map<string, number>();

  constructor(file: string, options: ParseOptions) {
    this.#options = options;
    this.#directory = dirname(resolve(file));
    this.#place(file);
  }

  run(): void {
    // Includes add to the list while it is walked.
    for (let index = 0; index < this.#files.length; index++) this.#read(this.#files[index] as MutableFile);
    for (const fault of this.#options.faults) this.#addBeyond(fault);
  }

  payload(): Payload {
    const errors = this.#files.flatMap(({ file, errors: own }) => own.map((error) => ({ ...error, file })));
    const config: readonly PayloadFile[] = this.#options.combine ? [this.#combined()] : this.#files;
    return { status: errors.length === 0 ? 'ok' : 'failed', errors, config };
  }

  #place(file: string): number {
    const known = this.#places.get(file);
    if (known !== undefined) return known;
    this.#places.set(file, this.#files.length);
    return this.#files.push({ file, status: 'ok', errors: [], parsed: [] }) - 1;
  }

  #read(into: MutableFile): void {
    let source: Source;
    try {
      source = { name: into.file, text: decodeText(readFileBytes(into.file, MAX_TOTAL_BYTES)).text };
    } catch (error) {
      this.#fail(into, { error: systemFailure('open', into.file, error), line: null });
      return;
    }
    const report = checkSyntax(source);
    for (const fault of report.faults) this.#fail(into, this.#errorOf(fault));
    // A text that does not parse has no directives to print.
    if (!report.failed) into.parsed = this.#withIncludes(statementsOf(source, this.#options), into);
  }

  #withIncludes(statements: readonly Statement[], from: MutableFile): readonly Statement[] {
    return statements.map((statement) => {
      if (statement.block) return { ...statement, block: this.#withIncludes(statement.block, from) };
      const [pattern] = statement.args;
      if (statement.directive !== 'include' || pattern === undefined || this.#options.singleFile)
        return statement;
      return { ...statement, includes: this.#included(pattern, statement.line, from) };
    });
  }

  #included(pattern: string, line: number, from: MutableFile): readonly number[] {
    const names = isGlob(pattern) ? globPaths(pattern, this.#directory) : [pattern];
    const paths = names.map((name) => (isAbsolute(name) ? name : join(this.#directory, name)));
    if (this.#files.length + paths.length > MAX_FILES) {
      this.#fail(from, { error: `more than ${MAX_FILES} files are included`, line });
      return [];
    }
    return paths.map((path) => this.#place(path));
  }

  /** Returns all directives in one file; a cycle of includes is cut at the repeated file. */
  #combined(): PayloadFile {
    const [first] = this.#files as [MutableFile];
    const status = this.#files.some((file) => file.status === 'failed') ? 'failed' : 'ok';
    const errors = this.#files.flatMap((file) => file.errors);
    return { file: first.file, status, errors, parsed: this.#inline(first, [first]) };
  }

  #inline(from: MutableFile, chain: readonly MutableFile[]): readonly Statement[] {
    const inline = (statements: readonly Statement[]): readonly Statement[] =>
      statements.flatMap((statement): readonly Statement[] => {
        const here = { file: from.file, ...statement };
        if (statement.block) return [{ ...here, block: inline(statement.block) }];
        if (!statement.includes) return [here];
        const files = statement.includes.map((place) => this.#files[place] as MutableFile);
        return files.flatMap((file) => (chain.includes(file) ? [] : this.#inline(file, [...chain, file])));
      });
    return inline(from.parsed);
  }

  #errorOf({ message, span, hint }: Fault): PayloadError {
    const line = span ? placeOf(span).line : null;
    const error = span ? `${message} in ${span.source.name}:${line}` : message;
    return { error, line, ...(this.#options.hints && hint !== undefined && { callback: hint }) };
  }

  #addBeyond(fault: Fault): void {
    const name = fault.span && resolve(fault.span.source.name);
    const file = this.#files.find((each) => resolve(each.file) === name) ?? this.#files[0];
    const error = this.#errorOf(fault);
    if (file && !file.errors.some((known) => known.line === error.line)) this.#fail(file, error);
  }

  #fail(file: MutableFile, error: PayloadError): void {
    file.status = 'failed';
    file.errors.push(error);
  }
}

/** Options of `buildConfig`. */
interface BuildOptions {
  readonly indent: string;
}

/** Configuration text out of crossplane's directives; reading it again gives the same directives. */
export function buildConfig(statements: readonly Statement[], { indent }: BuildOptions): string {
  const lines: string[] = [];
  addBlock(statements, { lines, indent, depth: 0, line: -1 });
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
}

interface Into {
  readonly lines: string[];
  readonly indent: string;
  readonly depth: number;
  /** Line of the directive that opens the block. */
  readonly line: number;
}

function addBlock(statements: readonly Statement[], into: Into): void {
  const { lines, indent, depth } = into;
  const margin = indent.repeat(depth);
  let lastLine = into.line;
  for (const statement of statements) {
    const { directive, args, block, comment, line } = statement;
    if (directive === '#') {
      const text = `#${oneLine(comment ?? '')}`;
      // A comment stays on the line of the directive that it follows.
      if (line === lastLine && lines.length > 0) lines.push(`${lines.pop() as string} ${text}`);
      else lines.push(margin + text);
      continue;
    }
    const words = [quoted(directive), ...argumentsOf(directive, args)].join(' ');
    lastLine = line;
    if (!block) lines.push(`${margin}${words};`);
    else {
      lines.push(`${margin}${words} {`);
      addBlock(block, { lines, indent, depth: depth + 1, line });
      lines.push(`${margin}}`);
      lastLine = -1;
    }
  }
}

function argumentsOf(directive: string, args: readonly string[]): readonly string[] {
  return directive === 'if' ? [`(${args.map(quoted).join(' ')})`] : args.map(quoted);
}

function oneLine(comment: string): string {
  return comment.replace(/[\r\n]+/g, ' ');
}

/**
 * Matches values that need quotes: the empty text, blanks, `;`, a `{` without `$` before it, a quote, `#` or `}` at the
 * start, and a backslash that the reader would remove.
 */
const NEEDS_QUOTES = /^$|[\s;]|^["'#}]|(?:^|[^$])\{|\\["'\\trn]|\\$/;

/** Returns a word that the parser reads as `value`. */
function quoted(value: string): string {
  if (!NEEDS_QUOTES.test(value)) return value;
  const escaped = value.replace(/\\(?=["'\\trn]|$)|"/g, (character) => `\\${character}`);
  return `"${escaped}"`;
}
