import { type Dirent, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Context, Registry } from '../../config/index.ts';
import type { Files, TextFile } from './files.ts';
import {
  entryOf,
  insideOf,
  type ReachedFile,
  type BlockKind,
  type PlacedDirective,
  type Root,
  rootAt,
  Walk,
} from './walk.ts';

const MARK = /^[ \t]*#[ \t]*gw-context:[ \t]*([a-z_ ,]+?)[ \t]*$/m;

/** The contexts from the outside in: a file whose directives fit several most likely belongs to the outermost. */
const ORDER: readonly Context[] = [
  'main',
  'http',
  'server',
  'location',
  'upstream',
  'cluster',
  'oidc_provider',
  'otel_exporter',
  'acme_issuer',
  'events',
  'limit_except',
  'server if',
  'location if',
];

/** The context that a file declares: the last one of `# gw-context: http, server`. */
function saidContext({ source }: TextFile): Context | undefined {
  const last = MARK.exec(source.text)?.[1]?.split(',').at(-1)?.trim();
  return ORDER.find((context) => context === last);
}

/** The context in which most directives of a file are allowed; `main` for an empty one. */
function guessedContext({ nodes }: TextFile, table: Registry): Context {
  let best: Context = 'main';
  let most = 0;
  for (const context of ORDER) {
    const fitting = nodes.filter(({ name, block }) =>
      table.named(name.value).some(({ row }) => {
        const takesBlock = 'opens' in row || 'data' in row;
        return row.contexts.includes(context) && takesBlock === (block !== undefined);
      }),
    ).length;
    if (fitting > most) [best, most] = [context, fitting];
  }
  return best;
}

/** True if a text looks like a main configuration: it has directives of the main context. */
function looksWhole(text: string): boolean {
  return /^[ \t]*(?:(?:http|events)\s*\{|worker_processes\s)/m.test(text);
}

/** Maximum depth of the search for main configurations, since the open folder may be the root of a disk. */
const MAX_DEPTH = 6;
const MAX_DIRECTORIES = 2_000;
const MAX_FILES = 500;
const MAX_FILE_BYTES = 4 * 1024 * 1024;
/** Maximum number of levels between a file and its main configuration above it: `sites-enabled/`, `conf.d/x/`. */
const MAX_ABOVE = 3;

const IGNORED = /^(?:\..*|node_modules|dist|vendor|proc|sys)$/;

/** True if a path is in a directory without configurations; changes there are ignored. */
export function isIgnored(path: string): boolean {
  return /[\\/](?:node_modules|\.git)[\\/]/.test(path);
}

/** The files below a folder that look like main configurations. */
function configsBelow(folder: string): readonly string[] {
  const found: string[] = [];
  let waiting = [folder];
  let visited = 0;
  for (let depth = 0; depth <= MAX_DEPTH && waiting.length > 0; depth++) {
    const next: string[] = [];
    for (const directory of waiting) {
      if (++visited > MAX_DIRECTORIES || found.length >= MAX_FILES) return found;
      for (const entry of entriesOf(directory)) {
        if (entry.isDirectory() && !IGNORED.test(entry.name)) next.push(join(directory, entry.name));
      }
      found.push(...configsIn(directory));
    }
    waiting = next;
  }
  return found;
}

/** The files in the directories above a file that look like main configurations. */
function configsAbove(path: string): readonly string[] {
  const found: string[] = [];
  let directory = dirname(path);
  for (let steps = 0; steps <= MAX_ABOVE && path.startsWith('/') && directory !== '/'; steps++) {
    found.push(...configsIn(directory));
    directory = dirname(directory);
  }
  return found;
}

function configsIn(directory: string): readonly string[] {
  return entriesOf(directory)
    .filter((entry) => !entry.isDirectory() && entry.name.endsWith('.conf'))
    .slice(0, MAX_FILES)
    .map(({ name }) => join(directory, name))
    .filter(isWhole);
}

function isWhole(path: string): boolean {
  try {
    const stats = statSync(path);
    return stats.isFile() && stats.size <= MAX_FILE_BYTES && looksWhole(readFileSync(path, 'utf8'));
  } catch {
    return false;
  }
}

function entriesOf(directory: string): readonly Dirent[] {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch {
    return [];
  }
}

/** The paths that the client has set. */
interface Settings {
  /** Absolute paths of the open folders. */
  readonly folders: readonly string[];
  /** The main configuration file, if it should not be searched for. */
  readonly main?: string | undefined;
  /** Directory that relative paths of logs, data and roots start from (`-p`). */
  readonly prefix?: string | undefined;
}

/** Finds the main configuration of a file, and the files that belong to it. */
export class Workspace {
  readonly files: Files;
  readonly table: Registry;
  settings: Settings = { folders: [] };
  #mains: Set<string> | undefined;
  readonly #reached = new Map<string, readonly ReachedFile[]>();

  constructor(files: Files, table: Registry) {
    this.files = files;
    this.table = table;
  }

  /** To be called when files are created or deleted: main configurations are searched for again. */
  forget(): void {
    this.#mains = undefined;
    this.#reached.clear();
    this.files.generation++;
  }

  /** The main configurations that include a file or are the file; else the file alone, in its most likely context. */
  rootsOf(file: TextFile): readonly Root[] {
    const mains = [...this.#mainsFor(file)].map((path) => rootAt(path, 'main'));
    const including = mains.filter(({ path }) => path !== file.path);
    const found = including.filter((root) => this.reached(root).some((met) => met.file.path === file.path));
    if (found.length > 0) return found;
    const said = saidContext(file);
    const isMain = said === undefined && mains.some(({ path }) => path === file.path);
    return [rootAt(file.path, isMain ? 'main' : (said ?? guessedContext(file, this.table)))];
  }

  /** The roots of all open documents, each once. */
  roots(): readonly Root[] {
    const all = this.files.opened.flatMap((file) => this.rootsOf(file));
    return [...new Map(all.map((root) => [`${root.kind} ${root.path}`, root])).values()];
  }

  /** The files of a configuration, each with the kind of block around it. */
  reached(root: Root): readonly ReachedFile[] {
    const key = `${root.kind} ${root.path}`;
    const known = this.#reached.get(key);
    if (known?.every(({ file }) => this.files.at(file.path) === file)) return known;
    const met = new Walk(root, this).run();
    this.#reached.set(key, met);
    return met;
  }

  /** Visits every directive of a configuration. */
  walk(root: Root, visit: (placed: PlacedDirective) => void): void {
    new Walk(root, { files: this.files, table: this.table, visit }).run();
  }

  /** The kinds of blocks that the text of a file may belong to. */
  blockKindsOf(file: TextFile): readonly BlockKind[] {
    const kinds = this.rootsOf(file).flatMap((root) =>
      this.reached(root)
        .filter((met) => met.file.path === file.path)
        .map(({ kind }) => kind),
    );
    return [...new Set(kinds)];
  }

  /** The kinds of the innermost of nested blocks; `openers` are the names of the blocks, outermost first. */
  blockKindsInside(file: TextFile, openers: readonly string[]): readonly BlockKind[] {
    const inside = this.blockKindsOf(file).map((outer) =>
      openers.reduce<BlockKind>((kind, name) => insideOf(entryOf(name, kind, this.table)), outer),
    );
    return [...new Set(inside)];
  }

  /** The directory that relative paths of a root's logs, data and roots start from. */
  prefixOf({ path }: Root): string {
    const { folders, prefix } = this.settings;
    return prefix ?? folders.find((folder) => path.startsWith(`${folder}/`)) ?? dirname(path);
  }

  #mainsFor(file: TextFile): ReadonlySet<string> {
    const { folders, main } = this.settings;
    if (main !== undefined) return new Set([main]);
    this.#mains ??= new Set(folders.flatMap(configsBelow));
    const isSearched = folders.some((folder) => file.path.startsWith(`${folder}/`));
    if (!isSearched) for (const path of configsAbove(file.path)) this.#mains.add(path);
    for (const { path, source } of this.files.opened) if (looksWhole(source.text)) this.#mains.add(path);
    return this.#mains;
  }
}
