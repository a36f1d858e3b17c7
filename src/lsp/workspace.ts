import { dirname } from 'node:path';
import type { Registry } from '../config/index.ts';
import type { Files, TextFile } from './files.ts';
import { guessedContext, looksWhole, saidContext } from './guess.ts';
import { configsAbove, configsBelow } from './search.ts';
import { entryOf, insideOf, rootAt, Walk } from './walk.ts';
import type { Met, Place, Placed, Root } from './walk.ts';

/** What the client says of where things are. */
export interface Settings {
  /** Absolute paths of the folders that are open. */
  readonly folders: readonly string[];
  /** The main configuration file, where it is not to be found out. */
  readonly main?: string | undefined;
  /** Directory that relative paths of logs, data and roots start from (`-p`). */
  readonly prefix?: string | undefined;
}

/** Which main configuration a file belongs to, and what that consists of. */
export class Workspace {
  readonly files: Files;
  readonly table: Registry;
  settings: Settings = { folders: [] };
  #mains: Set<string> | undefined;
  readonly #reached = new Map<string, readonly Met[]>();

  constructor(files: Files, table: Registry) {
    this.files = files;
    this.table = table;
  }

  /** Files have come or gone: main configurations are looked for again. */
  forget(): void {
    this.#mains = undefined;
    this.#reached.clear();
    this.files.generation++;
  }

  /** The main configurations that include a file, itself among them; else the file alone, in the context it seems to be for. */
  rootsOf(file: TextFile): readonly Root[] {
    const mains = [...this.#mainsFor(file)].map((path) => rootAt(path, 'main'));
    const including = mains.filter(({ path }) => path !== file.path);
    const found = including.filter((root) => this.reached(root).some((met) => met.file.path === file.path));
    if (found.length > 0) return found;
    const said = saidContext(file);
    const isMain = said === undefined && mains.some(({ path }) => path === file.path);
    return [rootAt(file.path, isMain ? 'main' : (said ?? guessedContext(file, this.table)))];
  }

  /** The roots of all that is open, each once. */
  roots(): readonly Root[] {
    const all = this.files.opened.flatMap((file) => this.rootsOf(file));
    return [...new Map(all.map((root) => [`${root.place} ${root.path}`, root])).values()];
  }

  /** The files of a configuration, and what is around each. */
  reached(root: Root): readonly Met[] {
    const key = `${root.place} ${root.path}`;
    const known = this.#reached.get(key);
    if (known?.every(({ file }) => this.files.at(file.path) === file)) return known;
    const met = new Walk(root, this).run();
    this.#reached.set(key, met);
    return met;
  }

  /** Visits every directive of a configuration. */
  walk(root: Root, visit: (placed: Placed) => void): void {
    new Walk(root, { files: this.files, table: this.table, visit }).run();
  }

  /** What may be around the text of a file. */
  placesOf(file: TextFile): readonly Place[] {
    const places = this.rootsOf(file).flatMap((root) =>
      this.reached(root)
        .filter((met) => met.file.path === file.path)
        .map(({ place }) => place),
    );
    return [...new Set(places)];
  }

  /** What is around a place inside of blocks, of which `openers` are the names, outermost first. */
  placesInside(file: TextFile, openers: readonly string[]): readonly Place[] {
    const inside = this.placesOf(file).map((outer) =>
      openers.reduce<Place>((place, name) => insideOf(entryOf(name, place, this.table)), outer),
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
