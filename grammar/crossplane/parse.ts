import { dirname, isAbsolute, join, resolve } from 'node:path';
import { checkSyntax } from '../check-syntax.ts';
import type { Fault } from '../diagnostic.ts';
import { decodeText, MAX_TOTAL_BYTES, readFileBytes, systemError } from '../files.ts';
import { globPaths, isGlob } from '../glob.ts';
import { MAX_FILES } from '../include.ts';
import { placeOf } from '../source.ts';
import type { Source } from '../source.ts';
import type { Payload, PayloadError, PayloadFile, Statement } from './payload.ts';
import { statementsOf } from './statements.ts';

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
      const failure = `open() "${into.file}" failed (${systemError(error)})`;
      this.#fail(into, { error: failure, line: null });
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
