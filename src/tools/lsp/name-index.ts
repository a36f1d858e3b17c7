import type { DirectiveNode, Span } from '../../../grammar/index.ts';
import { type NameKind, namePart, type NameRole, rolesOf } from '../../config/index.ts';
import type { VariableFacts } from '../lookups.ts';
import type { TextFile } from './files.ts';
import type { PlacedDirective, Root } from './walk.ts';
import type { Workspace } from './workspace.ts';

/** One occurrence of a name. */
export interface Occurrence {
  readonly kind: NameKind;
  /** The name for comparison: variables in lower case. */
  readonly name: string;
  readonly as: NameRole['as'];
  /** The span of the name alone. */
  readonly span: Span;
  readonly file: TextFile;
  readonly node: DirectiveNode;
  /** The server of a named location; '' for other names. */
  readonly scope: string;
}

const VARIABLE = /\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})/g;
/** `(?<name>…)`, `(?P<name>…)`, `(?'name'…)`. */
const CAPTURE = /\(\?P?[<']([A-Za-z_]\w*)[>']/g;

/** All occurrences of names in a directive. */
function occurrencesIn(placed: PlacedDirective): readonly Occurrence[] {
  const { node, file, server } = placed;
  const found: Occurrence[] = [];
  const add = (part: Pick<Occurrence, 'kind' | 'name' | 'as' | 'span'>): void => {
    if (found.some(({ span }) => span.start === part.span.start)) return;
    found.push({ ...part, file, node, scope: part.kind === 'named location' ? server : '' });
  };
  for (const { role, word } of rolesOf(placed.entry?.row, placed.node.args)) {
    const span = role.kind === 'path' ? undefined : namePart(word, role);
    if (role.kind === 'path' || !span) continue;
    const name = span.source.text.slice(span.start, span.end);
    add({ kind: role.kind, name: role.kind === 'variable' ? name.toLowerCase() : name, as: role.as, span });
  }
  for (const { span } of [node.name, ...node.args]) {
    for (const capture of matches(span, CAPTURE)) add({ kind: 'variable', as: 'definition', ...capture });
    for (const variable of matches(span, VARIABLE)) add({ kind: 'variable', as: 'use', ...variable });
  }
  return found;
}

function matches({ source, start, end }: Span, pattern: RegExp): readonly { name: string; span: Span }[] {
  return [...source.text.slice(start, end).matchAll(pattern)].map((match) => {
    const name = match[1] ?? match[2] ?? '';
    const from = start + match.index + match[0].indexOf(name);
    return { name: name.toLowerCase(), span: { source, start: from, end: from + name.length } };
  });
}

/** All names in the open configurations, collected again after a change. */
export class NameIndex {
  readonly #workspace: Workspace;
  readonly #byRoot = new Map<
    string,
    { readonly generation: number; readonly names: readonly Occurrence[] }
  >();

  constructor(workspace: Workspace) {
    this.#workspace = workspace;
  }

  /** All occurrences in the configurations of a file, each once. */
  around(file: TextFile): readonly Occurrence[] {
    return this.#of(this.#workspace.rootsOf(file));
  }

  /** All occurrences in the open configurations. */
  all(): readonly Occurrence[] {
    return this.#of(this.#workspace.roots());
  }

  /** The occurrences at an offset whose name has a definition. A file may be part of several servers. */
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

  /** All occurrences of the same name, each once. */
  same(file: TextFile, names: readonly Occurrence[]): readonly Occurrence[] {
    const found = this.around(file).filter((other) => names.some((one) => isSame(one, other)));
    return [...new Map(found.map((one) => [`${one.file.path} ${one.span.start}`, one])).values()];
  }

  /** The defined names of a kind, each once; `scope` excludes those of other servers. */
  defined(file: TextFile, kind: NameKind, scope?: string): readonly Occurrence[] {
    const found = this.around(file).filter(
      (one) => one.kind === kind && one.as !== 'use' && (scope === undefined || one.scope === scope),
    );
    return [...new Map(found.map((one) => [one.name, one])).values()];
  }

  #of(roots: readonly Root[]): readonly Occurrence[] {
    const lists = roots.map((root) => this.#in(root));
    if (lists.length === 1) return lists[0] as readonly Occurrence[];
    // The names of a file that several configurations include count once.
    const keyOf = ({ file, scope, span }: Occurrence): string => `${file.path} ${span.start} ${scope}`;
    return [...new Map(lists.flat().map((one) => [keyOf(one), one])).values()];
  }

  #in(root: Root): readonly Occurrence[] {
    const key = `${root.kind} ${root.path}`;
    const { generation } = this.#workspace.files;
    const known = this.#byRoot.get(key);
    if (known?.generation === generation) return known.names;
    const names: Occurrence[] = [];
    this.#workspace.walk(root, (placed) => names.push(...occurrencesIn(placed)));
    this.#byRoot.set(key, { generation, names });
    return names;
  }
}

/** The definitions among occurrences: uses do not count, and of shared names only the first occurrence does. */
export function definitionsOf(occurrences: readonly Occurrence[]): readonly Occurrence[] {
  const definitions = occurrences.filter((one) => one.as === 'definition');
  return definitions.length > 0 ? definitions : occurrences.filter((one) => one.as === 'shared').slice(0, 1);
}

function isSame(one: Occurrence, other: Occurrence): boolean {
  return one.kind === other.kind && one.name === other.name && one.scope === other.scope;
}

/** The built-in variable of a name, or its family. */
export function builtInNamed(
  name: string,
  variables: ReadonlyMap<string, VariableFacts>,
): VariableFacts | undefined {
  const known = variables.get(name.toLowerCase());
  if (known) return known;
  for (const facts of variables.values()) {
    const prefix = facts.name.slice(0, -1);
    if (facts.name.endsWith('*') && name.toLowerCase().startsWith(prefix)) return facts;
  }
  return undefined;
}
