import { realpathSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { systemFailure } from '../src/system/index.ts';
import type { Report } from './diagnostic.ts';
import { expandWord, type Expansion } from './expand.ts';
import {
  decodeText,
  errorCode,
  type Glob,
  globPaths,
  isGlob,
  MAX_TOTAL_BYTES,
  type ReadFile,
  readFileBytes,
} from './files.ts';
import { parseSource } from './parser.ts';
import type { Source, Span } from './source.ts';
import type { ParseInput } from './tree-builder.ts';
import type { ConfigTree, DirectiveNode, Word } from './tree.ts';

/** Maximum nesting of `include`. */
const MAX_INCLUDE_DEPTH = 32;

/** Maximum files of one load; a file counts each time that it is included. */
export const MAX_FILES = 10_000;

type IncludeInput = Expansion & Pick<ParseInput, 'knownDirective' | 'opensBlock'> & { readonly glob: Glob };

/** The file whose `include` directives are being resolved. */
interface Site {
  /** The chain of files from the main file to this one, by name and by real path. */
  readonly chain: readonly { readonly name: string; readonly path: string }[];
  /** Number of blocks around the `include`. */
  readonly depth: number;
}

/** Reads and parses the files of one load, each text once, and replaces `include` by the directives of its files. */
class Includer {
  /** The files read, in the order of reading. */
  readonly sources: Source[] = [];
  /** False if the braces of one of the sources do not match. */
  isBalanced = true;

  readonly #from: IncludeInput;
  readonly #mainName: string;
  readonly #byPath = new Map<string, Source>();
  #files = 0;
  #bytes = 0;

  /** `mainName` is the printed name of the main file; the names of the other files are derived from it. */
  constructor(from: IncludeInput, mainName: string) {
    this.#from = from;
    this.#mainName = mainName;
  }

  /** Returns the directives of the main file, reading it without `text`; `undefined` if it cannot be read. */
  main(path: string, text?: string): DirectiveNode[] | undefined {
    const source =
      text === undefined ? this.#open(path, this.#mainName) : this.#add(path, this.#mainName, text);
    return (
      source && this.#read(source, { chain: [{ name: this.#mainName, path: realPath(path) }], depth: 0 })
    );
  }

  /** Returns the directives of `-g`. Its text is not a file, so it is not among the sources. */
  parameter(text: string): DirectiveNode[] {
    const source = { name: 'command line', text };
    this.#from.report.sources.push(source);
    return this.#read(source, { chain: [], depth: 0 });
  }

  #read(source: Source, site: Site): DirectiveNode[] {
    const { report, knownDirective, opensBlock } = this.#from;
    const expand = (word: Word): Word => expandWord(word, this.#from);
    const isParameter = site.chain.length === 0;
    const known = { knownDirective, opensBlock };
    const parsed = parseSource({ source, report, ...known, expand, isParameter, depth: site.depth });
    this.isBalanced &&= parsed.balanced;
    return this.#resolve(parsed.directives, site);
  }

  /** Returns the source at `path`. If it cannot be read, the reason is reported at `span`. */
  #open(path: string, name: string, span?: Span): Source | undefined {
    const { report, readFile } = this.#from;
    const known = this.#byPath.get(path);
    try {
      const content = known ? known.text : readFile(path, MAX_TOTAL_BYTES - this.#bytes);
      this.#bytes += content.length;
      if (this.#bytes > MAX_TOTAL_BYTES) throw Object.assign(new Error('too large'), { code: 'EFBIG' });
      return known ?? this.#add(path, name, content);
    } catch (error) {
      const call = errorCode(error) === 'EISDIR' ? 'pread' : 'open';
      const failure = systemFailure(call, path, error);
      const tooLarge = `the configuration is larger than ${MAX_TOTAL_BYTES >> 20} MB`;
      report.emerg(errorCode(error) === 'EFBIG' ? tooLarge : failure, span, { rule: 'include-missing' });
      return undefined;
    }
  }

  #add(path: string, name: string, content: Uint8Array | string): Source {
    const { report } = this.#from;
    const { text, invalidAt: start } = decodeText(content);
    const source = { name, text, path };
    this.#byPath.set(path, source);
    this.sources.push(source);
    report.sources.push(source);
    if (start !== undefined) {
      const span = { source, start, end: start + 1 };
      report.warn('invalid UTF-8, the file is read as ISO 8859-1', span, { rule: 'unexpected-token' });
    }
    return source;
  }

  #resolve(nodes: readonly DirectiveNode[], site: Site): DirectiveNode[] {
    return nodes.flatMap((node) => {
      if (node.name.value === 'include') return this.#include(node, site);
      if (!node.block) return [node];
      return [{ ...node, block: this.#resolve(node.block, { ...site, depth: site.depth + 1 }) }];
    });
  }

  #include({ name, args, block }: DirectiveNode, site: Site): DirectiveNode[] {
    const { report, directory, glob } = this.#from;
    const [pattern] = args;
    if (block)
      report.emerg('directive "include" is not terminated by ";"', name.span, { rule: 'unexpected-token' });
    else if (!pattern || args.length > 1) {
      report.emerg('invalid number of arguments in "include" directive', name.span, {
        rule: 'wrong-arity',
        hint: 'expected "include file | mask;"',
      });
    } else if (site.chain.length > MAX_INCLUDE_DEPTH) {
      const message = `files are included deeper than ${MAX_INCLUDE_DEPTH} levels`;
      report.emerg(message, name.span, { rule: 'include-cycle' });
    } else {
      const paths = isGlob(pattern.value) ? glob(pattern.value, directory) : [pattern.value];
      return paths.flatMap((path) => this.#file(path, pattern, site));
    }
    return [];
  }

  #file(path: string, { span }: Word, site: Site): DirectiveNode[] {
    const { report, directory } = this.#from;
    if (++this.#files > MAX_FILES) {
      const message = `more than ${MAX_FILES} files are included`;
      if (this.#files === MAX_FILES + 1) report.emerg(message, span, { rule: 'include-cycle' });
      return [];
    }
    const absolute = resolve(directory, path);
    const name = isAbsolute(path) ? path : join(dirname(this.#mainName), path);
    const step = { name, path: realPath(absolute) };
    const start = site.chain.findIndex((other) => other.path === step.path);
    if (start >= 0) {
      const names = [...site.chain.slice(start), step].map((each) => each.name);
      report.emerg(`include cycle ${names.join(' -> ')}`, span, { rule: 'include-cycle' });
      return [];
    }
    const source = this.#open(absolute, name, span);
    return source ? this.#read(source, { chain: [...site.chain, step], depth: site.depth }) : [];
  }
}

/** Returns the real path of a file, by which a cycle is found even if the file has two names. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** Options of `loadTree`. */
export interface LoadOptions {
  /** The main configuration file; `include` and `${file:…}` are relative to its directory. */
  readonly file: string;
  /** The printed name of the file; default `file`. */
  readonly name?: string;
  /** The text of the main file, if it has been read already. */
  readonly text?: string;
  /** The directives of `-g`, which are read before the file, as in nginx. */
  readonly globals?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly report: Report;
  /** Tells whether any context has a directive of this name, to locate a missing `;`. */
  readonly knownDirective?: (name: string) => boolean;
  /** Tells whether any context has a block of this name. */
  readonly opensBlock?: (name: string) => boolean;
  readonly readFile?: ReadFile;
  /** Finds the files of a pattern, for a configuration that is not in the file system. */
  readonly glob?: Glob;
}

/**
 * Returns the syntax tree of a configuration and all files that it includes. Every fault is reported, and the tree has
 * the directives that could be read. It is `undefined` if the main file cannot be read or if braces do not match,
 * because all later faults would be consequences. The caller checks `report.failed` as well.
 */
export function loadTree(options: LoadOptions): ConfigTree | undefined {
  const { file, name = file, env, report, knownDirective = () => false, opensBlock = () => false } = options;
  const { readFile = readFileBytes, glob = globPaths } = options;
  const path = resolve(file);
  const from = { env, report, readFile, glob, knownDirective, opensBlock, directory: dirname(path) };
  const includer = new Includer(from, name);
  const globals = options.globals === undefined ? [] : includer.parameter(options.globals);
  const main = includer.main(path, options.text);
  if (!main || !includer.isBalanced) return undefined;
  return { directives: [...globals, ...main], sources: includer.sources };
}
