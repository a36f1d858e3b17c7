import { cyclesOf } from './cycles.ts';
import { sideEffectsOf } from './side-effects.ts';
import { type Import, type Node, type SourceFile, walk } from './tree.ts';

/** A rule of the house style. Returns one line per fault: `path:line what`. */
export type Rule = (tree: readonly SourceFile[]) => string[];

/** The folders from the top to the bottom: each may import those that follow it. */
const LAYERS = [
  'bin',
  'master',
  'worker',
  'lsp',
  'lookups',
  'pipeline',
  'explain',
  'check',
  'compile',
  'plan',
  'contract',
  'forwarding',
  'cache',
  'health',
  'acme',
  'issuer',
  'client',
  'cluster',
  'redis',
  'postgres',
  'upstream',
  'event-streams',
  'zone',
  'bodies',
  'tokens',
  'x509',
  'http',
  'http1',
  'config',
  'log',
  'grammar',
  'system',
  'version',
  'json',
] as const;

const HOMES: Readonly<Record<string, string>> = {
  chevrotain: 'grammar/',
  'uWebSockets.js': 'src/worker/transport/',
  'uWebSockets.js-node24': 'src/worker/transport/',
  pg: 'src/postgres/',
  ioredis: 'src/redis/',
  lmdb: 'src/modules/kv/',
  'dns-packet': 'src/upstream/dns/',
  pkijs: 'src/x509/',
  asn1js: 'src/x509/',
  'vscode-languageserver': 'src/tools/lsp/',
  'vscode-languageserver-textdocument': 'src/tools/lsp/',
  oauth4webapi: 'src/modules/auth_oidc/',
  '@bufbuild/protobuf': 'src/modules/otel/',
  refa: 'src/tools/check/',
  scslre: 'src/tools/check/',
};

/** Packages of data structures, which every folder may import. */
const HOMELESS: ReadonlySet<string> = new Set(['lru-cache']);

/** Packages that few configurations need: they cost the others neither time nor memory. */
const LOADED_LATE: ReadonlySet<string> = new Set([
  'ioredis',
  'pg',
  'lmdb',
  'jose',
  'oauth4webapi',
  'csv-parse',
  '@node-rs/bcrypt',
]);

const MAX_LINES = 500;

/** The rules that can be checked with imports and text. */
export const rules: Readonly<Record<string, Rule>> = {
  'imports point one way': importsPointOneWay,
  'no files import each other in a circle': (tree) =>
    cyclesOf(tree).map((cycle) => `${cycle.join(' → ')}: a circle`),
  'a module imports no other module': modulesAreApart,
  'what serves imports no tool': toolsAreApart,
  'the rules of a module are read when a check asks for them': rulesAreLazy,
  'nothing is cast through unknown': noCastsThroughUnknown,
  'a folder is entered through its index.ts': foldersHaveOneEntry,
  'a dependency has one home': dependenciesHaveOneHome,
  'a package that few configurations need is loaded for them': packagesAreLoadedLate,
  'importing a file of a module changes nothing': sideEffectsOf,
  [`files stay under ${MAX_LINES} lines`]: filesAreShort,
  'private members are called #name': privateMembersAreNamed,
};

/** The layer of a file, or `modules`; `undefined` if its folder is not in the order. Each tool is a layer of its own. */
function layerOf(path: string): string | undefined {
  const [, layer] = /^(?:src\/)?(?:tools\/)?([^/.]+)/.exec(path) ?? [];
  const isKnown = layer === 'modules' || (LAYERS as readonly string[]).includes(layer ?? '');
  return isKnown ? layer : undefined;
}

const depthOf = (layer: string): number => (LAYERS as readonly string[]).indexOf(layer);

/** The name of the module that a file belongs to. */
const moduleOf = (path: string): string | undefined =>
  /^src\/modules\/(?!index\.ts$)([^/]+?)(?:\/|\.ts$)/.exec(path)?.[1];

function eachImport(
  tree: readonly SourceFile[],
  check: (file: SourceFile, imported: Import) => string | undefined,
): string[] {
  return tree.flatMap((file) =>
    file.imports.flatMap((imported) => {
      const fault = check(file, imported);
      return fault === undefined
        ? []
        : [`${file.path}:${imported.line} imports ${imported.target}: ${fault}`];
    }),
  );
}

function importsPointOneWay(tree: readonly SourceFile[]): string[] {
  const placeless = tree
    .filter(({ path }) => layerOf(path) === undefined)
    .map(({ path }) => `${path}:1 lies in no folder of the order ${LAYERS.join(' → ')}`);
  const upward = eachImport(tree, ({ path }, { kind, target }) => {
    const from = layerOf(path);
    const to = layerOf(target);
    if (kind !== 'file' || from === undefined || to === undefined || from === to) return undefined;
    if (to === 'modules') return from === 'pipeline' ? undefined : 'only the pipeline imports modules';
    const floor = depthOf(from === 'modules' ? 'contract' : from);
    const reachesDown = from === 'modules' ? depthOf(to) >= floor : depthOf(to) > floor;
    return reachesDown ? undefined : `"${from}" may not import "${to}"`;
  });
  return [...placeless, ...upward];
}

function modulesAreApart(tree: readonly SourceFile[]): string[] {
  return eachImport(tree, ({ path }, { target }) => {
    const [from, to] = [moduleOf(path), moduleOf(target)];
    if (from === undefined || to === undefined || from === to) return undefined;
    return `module "${from}" may not import module "${to}"`;
  });
}

/** Commands import the tools. The pipeline hands a loaded configuration to them, and reads their code when it does. */
function toolsAreApart(tree: readonly SourceFile[]): string[] {
  return eachImport(tree, ({ path }, { target, lazy, isType }) => {
    if (!target.startsWith('src/tools/') || /^(bin|src\/tools)\//.test(path)) return undefined;
    if (path === 'src/pipeline.ts' && (lazy || isType)) return undefined;
    return 'only commands import tools, and the pipeline lazily';
  });
}

/** A serving process needs no rules of `gw check`: only a module's definition may import them, and lazily. */
function rulesAreLazy(tree: readonly SourceFile[]): string[] {
  return eachImport(tree, ({ path }, { target, lazy }) => {
    const [, folder = ''] = /^(src\/modules\/[^/]+\/)rules(?:\.ts$|\/)/.exec(target) ?? [];
    if (folder === '' || path.startsWith(`${folder}rules/`)) return undefined;
    return lazy && path === `${folder}index.ts` ? undefined : 'rules are read lazily, by the module alone';
  });
}

function packagesAreLoadedLate(tree: readonly SourceFile[]): string[] {
  return eachImport(tree, (_, { target, lazy, isType }) =>
    LOADED_LATE.has(target) && !lazy && !isType ? 'it is loaded when it is needed' : undefined,
  );
}

/** `x as unknown as T` hides from the compiler that a type has changed. */
function noCastsThroughUnknown(tree: readonly SourceFile[]): string[] {
  return tree.flatMap(({ path, statements, lineOf }) => {
    const found: string[] = [];
    const visit = (node: Node): boolean => {
      const inner = node['expression'] as Node | undefined;
      const type = inner?.['typeAnnotation'] as Node | undefined;
      if (node.type === 'TSAsExpression' && type?.type === 'TSUnknownKeyword')
        found.push(`${path}:${lineOf(node)} casts through unknown`);
      return true;
    };
    for (const statement of statements) walk(statement, visit);
    return found;
  });
}

function foldersHaveOneEntry(tree: readonly SourceFile[]): string[] {
  const paths = new Set(tree.map(({ path }) => path));
  return eachImport(tree, ({ path }, { kind, target }) => {
    if (kind !== 'file') return undefined;
    const entered = foldersOf(target).filter((folder) => !path.startsWith(folder) && hasEntry(folder, paths));
    const closed = entered.find((folder) => target !== `${folder}index.ts`);
    if (closed !== undefined) return `"${closed}" is entered through its index.ts`;
    const isOwnIndex = target.endsWith('/index.ts') && path.startsWith(target.slice(0, -'index.ts'.length));
    return isOwnIndex ? 'a file imports its siblings, never the index above it' : undefined;
  });
}

/** Folders of folders. */
const OPEN: ReadonlySet<string> = new Set(['src/', 'src/tools/']);

/** `src/a/`, `src/a/b/` for `src/a/b/c.ts`. */
function foldersOf(path: string): string[] {
  const names = path.split('/').slice(0, -1);
  return names.map((_, i) => `${names.slice(0, i + 1).join('/')}/`).filter((folder) => !OPEN.has(folder));
}

/** A folder inside a layer or module needs no index if only that layer or module imports its files. */
function hasEntry(folder: string, paths: ReadonlySet<string>): boolean {
  const needsIndex =
    folder === 'src/modules/' || /^(bin|grammar|src\/[^/]+|src\/(modules|tools)\/[^/]+)\/$/.test(folder);
  return needsIndex || paths.has(`${folder}index.ts`);
}

function dependenciesHaveOneHome(tree: readonly SourceFile[]): string[] {
  const homeOf = ({ path }: SourceFile): string => {
    const module = moduleOf(path);
    return module === undefined ? `${layerOf(path)}` : `modules/${module}`;
  };
  const found = new Map<string, string>();
  return eachImport(tree, (file, { kind, target }) => {
    if (kind !== 'package' || HOMELESS.has(target)) return undefined;
    const home = HOMES[target];
    if (home !== undefined) return file.path.startsWith(home) ? undefined : `its home is "${home}"`;
    const first = found.get(target) ?? homeOf(file);
    found.set(target, first);
    return first === homeOf(file) ? undefined : `its home is "${first}" already`;
  });
}

function filesAreShort(tree: readonly SourceFile[]): string[] {
  return tree
    .filter(({ lines }) => lines > MAX_LINES)
    .map(({ path, lines }) => `${path}:${lines} has ${lines} lines`);
}

/** Constructors are excepted: the language has no `#constructor`. */
function privateMembersAreNamed(tree: readonly SourceFile[]): string[] {
  const found: string[] = [];
  for (const file of tree)
    for (const statement of file.statements)
      walk(statement, (node) => {
        if (node['accessibility'] === 'private' && node['kind'] !== 'constructor')
          found.push(`${file.path}:${file.lineOf(node)} has a member that is "private", not #`);
        return true;
      });
  return found;
}
