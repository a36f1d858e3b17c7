import { type DocumentSymbol, type SymbolInformation, SymbolKind } from 'vscode-languageserver/node';
import type { DirectiveNode, Span } from '../../../grammar/index.ts';
import type { DirectiveEntry, NameKind } from '../../config/index.ts';
import { rangeOf, type TextFile } from './files.ts';
import type { Session } from './session.ts';
import { entryOf, insideOf, type BlockKind } from './walk.ts';

const KINDS: Readonly<Record<NameKind, SymbolKind>> = {
  upstream: SymbolKind.Class,
  cluster: SymbolKind.Class,
  'token issuer': SymbolKind.Class,
  'OpenID provider': SymbolKind.Class,
  'ACME issuer': SymbolKind.Class,
  'named location': SymbolKind.Method,
  variable: SymbolKind.Variable,
  'log format': SymbolKind.Struct,
  'request zone': SymbolKind.Object,
  'connection zone': SymbolKind.Object,
  'event ring': SymbolKind.Event,
  dictionary: SymbolKind.Object,
  'session cache': SymbolKind.Object,
  'response cache': SymbolKind.Object,
};

/** The symbols of a file: its blocks and the names that it defines. */
export function documentSymbols(file: TextFile, { workspace }: Session): readonly DocumentSymbol[] {
  const [kind = 'main'] = workspace.blockKindsOf(file);
  const symbolsOf = (nodes: readonly DirectiveNode[], outer: BlockKind): readonly DocumentSymbol[] =>
    nodes.flatMap((node) => {
      const entry = entryOf(node.name.value, outer, workspace.table);
      if (!node.block && !definedKind(entry)) return [];
      const inside = insideOf(entry);
      const kind = kindOf(entry, inside);
      const children = inside === 'data' ? [] : [...symbolsOf(node.block ?? [], inside)];
      return {
        ...labelOf(node),
        kind,
        range: rangeOf(node.span),
        selectionRange: rangeOf(headOf(node)),
        children,
      };
    });
  return symbolsOf(file.nodes, kind);
}

/** The defined names of open configurations that contain the letters of the query in order. */
export function workspaceSymbols(query: string, { files, names }: Session): readonly SymbolInformation[] {
  const letters = query.toLowerCase();
  return names
    .all()
    .filter(({ as, name }) => as !== 'use' && contains(name.toLowerCase(), letters))
    .map(({ file, kind, span }) => ({
      name: span.source.text.slice(span.start, span.end),
      kind: KINDS[kind],
      containerName: kind,
      location: { uri: files.uriOf(file.path), range: rangeOf(span) },
    }));
}

function contains(name: string, letters: string): boolean {
  let at = 0;
  for (const letter of letters) {
    at = name.indexOf(letter, at) + 1;
    if (at === 0) return false;
  }
  return true;
}

/** The kind of a symbol: that of a block by its content, that of other directives by the name that they define. */
function kindOf(entry: DirectiveEntry | undefined, inside: BlockKind): SymbolKind {
  if (inside === 'server') return SymbolKind.Module;
  if (inside === 'upstream' || inside === 'cluster') return SymbolKind.Class;
  if (inside === 'location') return SymbolKind.Method;
  const defined = definedKind(entry);
  return defined ? KINDS[defined] : SymbolKind.Namespace;
}

function definedKind(entry: DirectiveEntry | undefined): NameKind | undefined {
  for (const role of entry?.row.roles ?? [])
    if (role.kind !== 'path' && role.as === 'definition') return role.kind;
  return undefined;
}

/** The label of a directive: its words, or the names of a `server`. */
function labelOf({ name, args, block = [] }: DirectiveNode): Pick<DocumentSymbol, 'name' | 'detail'> {
  const isServer = name.value === 'server' && args.length === 0;
  const inner = isServer ? block.filter((node) => ['server_name', 'listen'].includes(node.name.value)) : [];
  const words =
    inner.length > 0
      ? inner
          .toSorted(byName)
          .slice(0, 1)
          .flatMap((node) => node.args)
      : args;
  const detail = words.map(({ span }) => span.source.text.slice(span.start, span.end)).join(' ');
  return { name: detail === '' ? name.value : `${name.value} ${detail}`, detail: '' };
}

/** Sorts `server_name` before `listen`. */
function byName(one: DirectiveNode, other: DirectiveNode): number {
  return other.name.value.length - one.name.value.length;
}

function headOf({ name, args }: DirectiveNode): Span {
  return { ...name.span, end: args.at(-1)?.span.end ?? name.span.end };
}
