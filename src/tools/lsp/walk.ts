import { dirname, resolve } from 'node:path';
import { type DirectiveNode, globPaths, isGlob } from '../../../grammar/index.ts';
import type { Context, DirectiveEntry, Registry } from '../../config/index.ts';
import type { Files, TextFile } from './files.ts';

/** The kind of a block: a context, data lines (`types`, `map`), or a block that gw does not know. */
export type BlockKind = Context | 'data' | 'unknown';

/** A file that no other includes, and the kind of block that its text belongs to. */
export interface Root {
  readonly path: string;
  readonly kind: BlockKind;
  /** Absolute directory that `include` starts from. */
  readonly confDir: string;
}

/** A directive with the block that it is in. */
export interface PlacedDirective {
  readonly node: DirectiveNode;
  readonly file: TextFile;
  readonly kind: BlockKind;
  /** Its row in this block; another row of the name if it is not allowed there. */
  readonly entry: DirectiveEntry | undefined;
  /** Id of the enclosing server, which is the scope of named locations. */
  readonly server: string;
}

/** A file of a root and the kind of block around it, once for each time that it is included. */
export interface ReachedFile {
  readonly file: TextFile;
  readonly kind: BlockKind;
}

interface Surroundings {
  readonly kind: BlockKind;
  readonly server: string;
  /** The files from the root to this one. */
  readonly chain: readonly string[];
}

/** The maximum number of files, as for a load. */
const MAX_FILES = 10_000;

/** Visits a configuration with its included files in the order of reading, despite any faults. */
export class Walk {
  readonly reached: ReachedFile[] = [];
  readonly #files: Files;
  readonly #table: Registry;
  readonly #root: Root;
  readonly #visit: (placed: PlacedDirective) => void;

  constructor(
    root: Root,
    parts: { files: Files; table: Registry; visit?: (placed: PlacedDirective) => void },
  ) {
    this.#root = root;
    this.#files = parts.files;
    this.#table = parts.table;
    this.#visit = parts.visit ?? (() => undefined);
  }

  run(): readonly ReachedFile[] {
    const { path, kind } = this.#root;
    this.#file(path, { kind, server: path, chain: [] });
    return this.reached;
  }

  #file(path: string, around: Surroundings): void {
    if (around.chain.includes(path) || this.reached.length >= MAX_FILES) return;
    const file = this.#files.at(path);
    if (!file) return;
    this.reached.push({ file, kind: around.kind });
    this.#nodes(file, file.nodes, { ...around, chain: [...around.chain, path] });
  }

  #nodes(file: TextFile, nodes: readonly DirectiveNode[], around: Surroundings): void {
    for (const node of nodes) {
      const { kind, server } = around;
      const entry = entryOf(node.name.value, kind, this.#table);
      this.#visit({ node, file, kind, entry, server });
      for (const path of includedBy(node, this.#root.confDir)) this.#file(path, around);
      if (!node.block) continue;
      const inside = insideOf(entry);
      const id = inside === 'server' ? `${file.path}:${node.span.start}` : server;
      this.#nodes(file, node.block, { ...around, kind: inside, server: id });
    }
  }
}

/** The row of a directive in a block; another row of the name if it is not allowed there. Data lines have no row. */
export function entryOf(name: string, kind: BlockKind, table: Registry): DirectiveEntry | undefined {
  if (kind === 'data') return undefined;
  const entries = table.named(name);
  return entries.find(({ row }) => kind !== 'unknown' && row.contexts.includes(kind)) ?? entries[0];
}

/** The kind of a directive's block. */
export function insideOf(entry: DirectiveEntry | undefined): BlockKind {
  if (!entry) return 'unknown';
  if ('opens' in entry.row) return entry.row.opens;
  return 'data' in entry.row ? 'data' : 'unknown';
}

/** The absolute paths of the files that an `include` names; none for any other directive. */
export function includedBy({ name, args }: DirectiveNode, confDir: string): readonly string[] {
  const [word] = args;
  if (name.value !== 'include' || !word) return [];
  const paths = isGlob(word.value) ? globPaths(word.value, confDir) : [word.value];
  return paths.map((path) => resolve(confDir, path));
}

/** The root for a file without a main configuration. */
export function rootAt(path: string, kind: BlockKind): Root {
  return {
    path,
    kind,
    confDir: path.startsWith('/') || /^[A-Za-z]:\\/.test(path) ? dirname(path) : process.cwd(),
  };
}
