import type { NameKind } from '../config/index.ts';
import type { TextFile } from './files.ts';
import { occurrencesIn } from './names.ts';
import type { Occurrence } from './names.ts';
import type { Root } from './walk.ts';
import type { Workspace } from './workspace.ts';

/** All names of the configurations that are open, found again once something has changed. */
export class NameIndex {
  readonly #workspace: Workspace;
  readonly #byRoot = new Map<
    string,
    { readonly generation: number; readonly names: readonly Occurrence[] }
  >();

  constructor(workspace: Workspace) {
    this.#workspace = workspace;
  }

  /** Every occurrence in the configurations that a file belongs to, each place once. */
  around(file: TextFile): readonly Occurrence[] {
    return this.#of(this.#workspace.rootsOf(file));
  }

  /** Every occurrence in all that is open. */
  all(): readonly Occurrence[] {
    return this.#of(this.#workspace.roots());
  }

  /** The name at an offset: an occurrence that has a definition somewhere. One place may be in several servers. */
  at(file: TextFile, offset: number): readonly Occurrence[] {
    const all = this.around(file);
    return all.filter(
      (one) =>
        one.file.path === file.path &&
        one.span.start <= offset &&
        offset <= one.span.end &&
        all.some((other) => isSame(one, other) && other.as !== 'use'),
    );
  }

  /** Where the same name stands; each place of the text once. */
  same(file: TextFile, names: readonly Occurrence[]): readonly Occurrence[] {
    const found = this.around(file).filter((other) => names.some((one) => isSame(one, other)));
    return [...new Map(found.map((one) => [`${one.file.path} ${one.span.start}`, one])).values()];
  }

  /** The names of a kind that something defines, each once; `scope` leaves out those of other servers. */
  defined(file: TextFile, kind: NameKind, scope?: string): readonly Occurrence[] {
    const found = this.around(file).filter(
      (one) => one.kind === kind && one.as !== 'use' && (scope === undefined || one.scope === scope),
    );
    return [...new Map(found.map((one) => [one.name, one])).values()];
  }

  #of(roots: readonly Root[]): readonly Occurrence[] {
    const lists = roots.map((root) => this.#in(root));
    if (lists.length === 1) return lists[0] as readonly Occurrence[];
    // A file that several configurations include has its names once.
    const keyOf = ({ file, scope, span }: Occurrence): string => `${file.path} ${span.start} ${scope}`;
    return [...new Map(lists.flat().map((one) => [keyOf(one), one])).values()];
  }

  #in(root: Root): readonly Occurrence[] {
    const key = `${root.place} ${root.path}`;
    const { generation } = this.#workspace.files;
    const known = this.#byRoot.get(key);
    if (known?.generation === generation) return known.names;
    const names: Occurrence[] = [];
    this.#workspace.walk(root, (placed) => names.push(...occurrencesIn(placed)));
    this.#byRoot.set(key, { generation, names });
    return names;
  }
}

/** Where a name is defined: what only uses it does not count, and of those who share it the first does. */
export function definitionsOf(occurrences: readonly Occurrence[]): readonly Occurrence[] {
  const definitions = occurrences.filter((one) => one.as === 'definition');
  return definitions.length > 0 ? definitions : occurrences.filter((one) => one.as === 'shared').slice(0, 1);
}

function isSame(one: Occurrence, other: Occurrence): boolean {
  return one.kind === other.kind && one.name === other.name && one.scope === other.scope;
}
