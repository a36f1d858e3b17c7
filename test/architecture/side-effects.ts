import { type Node, type SourceFile, walk } from './tree.ts';

/** Statements that declare something and do nothing. */
const DECLARATIONS = new Set([
  'ImportDeclaration',
  'ExportAllDeclaration',
  'FunctionDeclaration',
  'TSDeclareFunction',
  'ClassDeclaration',
  'TSInterfaceDeclaration',
  'TSTypeAliasDeclaration',
  'EmptyStatement',
]);

/** Code that runs later, not on import. */
const FUNCTIONS = new Set([
  'FunctionExpression',
  'ArrowFunctionExpression',
  'FunctionDeclaration',
  'MethodDefinition',
]);

const ACTING_GLOBALS = [
  'setTimeout',
  'setInterval',
  'setImmediate',
  'queueMicrotask',
  'fetch',
  'process',
  'console',
  'Atomics',
];

/** Parts of Node that change nothing, so that a constant may be computed with them. */
const PURE_PARTS = ['node:path', 'node:url', 'node:util', 'node:buffer', 'node:module', 'node:os'];

/**
 * Faults of files in `src/modules/`, except bodies of threads, that do something when they are imported: statements, variables
 * that can change, constants computed by the outside world (Node, a package, timers). Calls of our own functions count as pure.
 */
export function sideEffectsOf(tree: readonly SourceFile[]): string[] {
  return tree
    .filter(({ path }) => path.startsWith('src/modules/') && !path.endsWith('-thread.ts'))
    .flatMap(faultsOf);
}

function faultsOf(file: SourceFile): string[] {
  const acting = new Set([...ACTING_GLOBALS, ...actingNames(file)]);
  const bare = file.imports.filter((imported) => imported.bare);
  return [
    ...bare.map(({ line, target }) => `${file.path}:${line} imports ${target} for its side effect`),
    ...file.statements.flatMap((statement) => {
      const fault = faultOf(statement, acting);
      return fault === undefined ? [] : [`${file.path}:${file.lineOf(statement)} ${fault} on import`];
    }),
  ];
}

function faultOf(statement: Node, acting: ReadonlySet<string>): string | undefined {
  const declared = (statement['declaration'] as Node | null | undefined) ?? statement;
  if (DECLARATIONS.has(declared.type)) return undefined;
  if (declared.type === 'ExportNamedDeclaration' || declared['declare'] === true) return undefined;
  if (declared.type !== 'VariableDeclaration') return `runs a statement (${declared.type})`;
  if (declared['kind'] !== 'const') return `makes a variable that can change (${String(declared['kind'])})`;
  let fault: string | undefined;
  walk(declared, (node) => {
    if (FUNCTIONS.has(node.type)) return false;
    if (node.type === 'AwaitExpression') fault = 'waits';
    const isCall = node.type === 'CallExpression' || node.type === 'NewExpression';
    const name = isCall ? rootName(node['callee'] as Node) : '';
    if (acting.has(name)) fault = `calls "${name}"`;
    return true;
  });
  return fault;
}

/** `a` of `a.b.c()`. */
function rootName(callee: Node): string {
  let node = callee;
  while (node.type === 'MemberExpression') node = node['object'] as Node;
  return node.type === 'Identifier' ? String(node['name']) : '';
}

/** Local names of what packages and those parts of Node that act export. */
function actingNames({ statements }: SourceFile): string[] {
  return statements.flatMap((statement) => {
    if (statement.type !== 'ImportDeclaration') return [];
    const from = String((statement['source'] as Node)['value']);
    if (from.startsWith('.') || PURE_PARTS.includes(from)) return [];
    return (statement['specifiers'] as Node[]).map((specifier) =>
      String((specifier['local'] as Node)['name']),
    );
  });
}
