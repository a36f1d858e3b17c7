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
  /** Text behind the `#`. */
  readonly comment?: string;
  /** Of an `include`: the files it stands for, as places in `config`. */
  readonly includes?: readonly number[];
  /** The file it comes from, in a combined payload. */
  readonly file?: string;
}

interface PayloadError {
  readonly error: string;
  readonly line: number | null;
  /** What the fault's hint says. */
  readonly callback?: string;
}

/** One file of crossplane's JSON. */
export interface PayloadFile {
  readonly file: string;
  readonly status: 'ok' | 'failed';
  readonly errors: readonly PayloadError[];
  readonly parsed: readonly Statement[];
}

/** What `crossplane parse` prints, and `crossplane build` reads. */
export interface Payload {
  readonly status: 'ok' | 'failed';
  readonly errors: readonly (PayloadError & { readonly file: string })[];
  readonly config: readonly PayloadFile[];
}

/** Which statements are wanted. */
interface StatementOptions {
  readonly comments: boolean;
  /** Directives that are left out, with their blocks. */
  readonly ignore: ReadonlySet<string>;
}

/** The directives of one text as crossplane names them; `include` is one of them. The text must parse. */
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

/** crossplane's own options. */
export interface ParseOptions {
  readonly comments: boolean;
  readonly ignore: ReadonlySet<string>;
  /** Included files are not read. */
  readonly singleFile: boolean;
  /** One file that holds everything, in place of the includes. */
  readonly combine: boolean;
  /** Hints go into the payload. */
  readonly hints: boolean;
  /** Faults beyond the grammar that the text is known to have. */
  readonly faults: readonly Fault[];
}

interface MutableFile {
  file: string;
  status: 'ok' | 'failed';
  errors: PayloadError[];
  parsed: readonly Statement[];
}

/** A configuration as `crossplane parse` gives it: every file once, `include` with the places of its files. */
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
    // What does not parse has no structure that could be shown.
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

  /** Everything in one file; a cycle is cut where it comes back. */
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

/** How built text is indented. */
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
  /** Where the block began. */
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
      // A comment belongs on the line of the directive it was written behind.
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
 * What a bare word cannot hold: nothing, blanks, `;`, a `{` that no `$` hides, a quote or `#` or `}` at its start, and a
 * backslash that the reader would take away.
 */
const NEEDS_QUOTES = /^$|[\s;]|^["'#}]|(?:^|[^$])\{|\\["'\\trn]|\\$/;

/** A word that is read back as `value`. */
function quoted(value: string): string {
  if (!NEEDS_QUOTES.test(value)) return value;
  const escaped = value.replace(/\\(?=["'\\trn]|$)|"/g, (character) => `\\${character}`);
  return `"${escaped}"`;
}
