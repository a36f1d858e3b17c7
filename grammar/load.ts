import { dirname, resolve } from 'node:path';
import type { Report } from './diagnostic.ts';
import { readFileBytes } from './files.ts';
import type { ReadFile } from './files.ts';
import { globPaths } from './glob.ts';
import type { Glob } from './glob.ts';
import { Includer } from './include.ts';
import type { ConfigTree } from './tree.ts';

/** What one load reads, and with what. */
export interface LoadOptions {
  /** The main configuration file; its directory is what `include` and `${file:…}` are relative to. */
  readonly file: string;
  /** The file as messages print it, if not as `file`. */
  readonly name?: string;
  /** The text of the main file, when it has been read already. */
  readonly text?: string;
  /** The directives of `-g`; read before the file, as nginx does. */
  readonly globals?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly report: Report;
  /** Whether any context has a directive of this name; makes the blame for a missing `;` exact. */
  readonly knownDirective?: (name: string) => boolean;
  /** Whether any context has a block of this name. */
  readonly opensBlock?: (name: string) => boolean;
  readonly readFile?: ReadFile;
  /** Which files a pattern means, for a configuration that does not lie in the file system. */
  readonly glob?: Glob;
}

/**
 * Reads the configuration with all that it includes. Every fault is reported, and the tree holds what could be read.
 * There is none when the main file cannot be read or when braces do not match: what the later stages would say of such
 * a tree would be consequences only. The caller looks at `report.failed` as well.
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
