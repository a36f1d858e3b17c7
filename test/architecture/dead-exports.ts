import { posix } from 'node:path';
import { type Node, type SourceFile, walk } from './tree.ts';

/** The exports of one file, and the names that it takes from others. */
interface FileNames {
  /** Its own exports, with the lines on which they are. */
  readonly exported: ReadonlyMap<string, number>;
  /** Files that it exports with `export *`. */
  readonly passedOn: readonly string[];
  /** `path name`, or `path *` for all names. */
  readonly taken: readonly string[];
}

/**
 * Exports of the product that no file imports. `tree` contains the tests as well: an export that only a test imports is not dead.
 * All names of a file that is imported as a whole (`import()`, `* as`) count as imported.
 */
export function deadExportsOf(tree: readonly SourceFile[]): string[] {
  const names = new Map(tree.map((file) => [file.path, namesOf(file)]));
  const taken = new Set<string>();
  const take = (path: string, name: string): void => {
    taken.add(`${path} ${name}`);
    for (const target of names.get(path)?.passedOn ?? []) take(target, name);
  };
  for (const file of names.values())
    for (const one of file.taken) take(...(one.split(' ') as [string, string]));
  return [...names].flatMap(([path, { exported }]) =>
    path.startsWith('test/') || taken.has(`${path} *`)
      ? []
      : [...exported].flatMap(([name, line]) =>
          taken.has(`${path} ${name}`) ? [] : `${path}:${line} exports ${name}, which no file imports`,
        ),
  );
}

function namesOf({ path, statements, lineOf }: SourceFile): FileNames {
  const exported = new Map<string, number>();
  const passedOn: string[] = [];
  const taken: string[] = [];
  for (const statement of statements) {
    walk(statement, (node) => {
      const target = targetOf(node, path);
      if (node.type === 'ExportAllDeclaration' && !node['exported']) passedOn.push(target ?? '');
      else if (target !== undefined) taken.push(...takenBy(node).map((name) => `${target} ${name}`));
      return true;
    });
    for (const name of exportsOf(statement)) exported.set(name, lineOf(statement));
  }
  return { exported, passedOn, taken };
}

/** The file that a node imports; `undefined` for packages and other nodes. */
function targetOf(node: Node, path: string): string | undefined {
  const specifier = (node['source'] as { value?: unknown } | null | undefined)?.value;
  if (typeof specifier !== 'string' || !specifier.startsWith('.')) return undefined;
  return posix.join(posix.dirname(path), specifier);
}

/** The names that an import or re-export takes. */
function takenBy(node: Node): readonly string[] {
  if (node.type !== 'ImportDeclaration' && node.type !== 'ExportNamedDeclaration') return ['*'];
  return (node['specifiers'] as readonly Node[]).map(
    (specifier) =>
      nameIn(specifier['imported'] ?? (specifier.type === 'ExportSpecifier' && specifier['local'])) ?? '*',
  );
}

/** The names that a statement exports. */
function exportsOf(statement: Node): readonly string[] {
  if (statement.type !== 'ExportNamedDeclaration') return [];
  const declaration = statement['declaration'] as Node | null;
  const declared = (declaration?.['declarations'] as readonly Node[] | undefined) ?? [declaration];
  const specifiers = (statement['specifiers'] as readonly Node[] | undefined) ?? [];
  return [
    ...declared.flatMap((one) => nameIn(one?.['id']) ?? []),
    ...specifiers.flatMap(({ exported }) => nameIn(exported) ?? []),
  ];
}

function nameIn(identifier: unknown): string | undefined {
  const { name } = (identifier || {}) as { readonly name?: unknown };
  return typeof name === 'string' ? name : undefined;
}
