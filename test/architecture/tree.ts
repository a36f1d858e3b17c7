import { readFileSync, readdirSync } from 'node:fs';
import { join, posix } from 'node:path';
import { parseAst } from 'vitest/node';

/** A syntax node of the parser, with the fields that the rules need. */
export interface Node {
  readonly type: string;
  readonly start: number;
  readonly [member: string]: unknown;
}

/** One import, re-export, dynamic import or import type. Types count as much as values. */
export interface Import {
  /** Path of a file of the tree, or the name of a package. */
  readonly target: string;
  readonly kind: 'file' | 'package' | 'node';
  readonly line: number;
  /** `import './x.ts'`, for a side effect. */
  readonly bare: boolean;
  /** `import('./x.ts')`. */
  readonly lazy: boolean;
  /** Nothing of it is left when the types are gone. */
  readonly isType: boolean;
}

export interface SourceFile {
  /** From the root of the repository, with `/`. */
  readonly path: string;
  readonly lines: number;
  readonly imports: readonly Import[];
  readonly statements: readonly Node[];
  lineOf(node: Node): number;
}

/** Reads every TypeScript file below the given folders. */
export function readTree(root: string, folders: readonly string[]): SourceFile[] {
  const paths = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts'))
      .map((path) => posix.join(folder, path.replaceAll('\\', '/'))),
  );
  return paths.sort().map((path) => parseFile(path, readFileSync(join(root, path), 'utf8')));
}

/** Parses a file. Throws if its syntax is wrong. */
export function parseFile(path: string, text: string): SourceFile {
  // The parser counts UTF-16 units, as strings do.
  const lineOf = ({ start }: Node): number => text.slice(0, start).split('\n').length;
  const statements = (parseAst(text, { lang: 'ts' }) as unknown as { body: Node[] }).body;
  const imports: Import[] = [];
  for (const statement of statements) {
    walk(statement, (node) => {
      const specifier = (node['source'] as { value?: unknown } | null | undefined)?.value;
      if (typeof specifier !== 'string') return true;
      const bare = node.type === 'ImportDeclaration' && (node['specifiers'] as Node[]).length === 0;
      const lazy = node.type === 'ImportExpression';
      const isType =
        node.type === 'TSImportType' || node['importKind'] === 'type' || node['exportKind'] === 'type';
      imports.push({ ...resolve(path, specifier), line: lineOf(node), bare, lazy, isType });
      return true;
    });
  }
  return {
    path,
    lines: text.split('\n').length - (text.endsWith('\n') ? 1 : 0),
    imports,
    statements,
    lineOf,
  };
}

function resolve(from: string, specifier: string): Pick<Import, 'target' | 'kind'> {
  if (specifier.startsWith('.')) return { kind: 'file', target: posix.join(posix.dirname(from), specifier) };
  if (specifier.startsWith('node:')) return { kind: 'node', target: specifier };
  const [scope = '', name] = specifier.split('/');
  return { kind: 'package', target: scope.startsWith('@') ? `${scope}/${name}` : scope };
}

/** Visits a node and all nodes below it. If `visit` returns false, those below are skipped. */
export function walk(node: Node, visit: (node: Node) => boolean): void {
  if (!visit(node)) return;
  for (const member of Object.values(node)) {
    for (const child of Array.isArray(member) ? member : [member]) {
      if (typeof (child as Node | null)?.type === 'string') walk(child as Node, visit);
    }
  }
}
