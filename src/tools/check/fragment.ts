import { type Piece, piecesOf, type Source } from '../../../grammar/index.ts';
import type { Context, Registry } from '../../config/index.ts';

/** The contexts of fragments, the usual ones first, with the blocks that must surround them. */
const AROUND: ReadonlyMap<Context, readonly string[]> = new Map<Context, readonly string[]>([
  ['http', ['http']],
  ['server', ['http', 'server']],
  ['location', ['http', 'server', 'location /']],
  ['upstream', ['http', 'upstream fragment']],
  ['cluster', ['http', 'cluster fragment']],
  ['location if', ['http', 'server', 'location /', 'if ($args)']],
  ['limit_except', ['http', 'server', 'location /', 'limit_except GET']],
  ['server if', ['http', 'server', 'if ($args)']],
  ['events', ['events']],
  ['check', ['check']],
]);

/** The contexts that `--context` and `# gw-context:` accept. */
export const FRAGMENT_CONTEXTS: readonly string[] = [...AROUND.keys()];

/** Rules about directives that may be in another file. */
const NEED_THE_WHOLE: ReadonlySet<string> = new Set([
  'unknown-variable',
  'bad-reference',
  'missing-resolver',
  'static-dns',
  'events-zone-missing',
  'flag-undefined',
]);

/** Returns whether a rule applies to fragments. */
export function judgesFragments(slug: string): boolean {
  return !NEED_THE_WHOLE.has(slug);
}

/**
 * The context of a text: `main` for a whole configuration, else the context that its comment (`# gw-context: http,
 * server`) declares or all of its directives share; `undefined` if that is not known.
 */
export function contextOf(source: Source, registry: Registry): Context | undefined {
  // Most texts are whole configurations; this avoids parsing large ones twice.
  if (!source.text.includes('gw-context') && /^(?:http|events)\s*\{/m.test(source.text)) return 'main';
  const pieces = piecesOf(source);
  const comment = pieces.find(({ kind, image }) => kind === 'comment' && CONTEXT.test(image));
  if (comment) return innermost(CONTEXT.exec(comment.image)?.[1] ?? '');
  const legal = topStatements(pieces).flatMap(({ name, hasBlock }) => {
    const rows = registry.named(name).filter(({ row }) => ('opens' in row || 'data' in row) === hasBlock);
    return rows.length === 0 ? [] : [new Set(rows.flatMap(({ row }) => row.contexts))];
  });
  if (legal.some((contexts) => contexts.has('main'))) return 'main';
  if (legal.length === 0) return undefined;
  return [...AROUND.keys()].find((context) => legal.every((contexts) => contexts.has(context)));
}

const CONTEXT = /^#\s*gw-context:\s*(.*)$/;

/** The last context of a list from the outside in: `http, server`. */
export function innermost(list: string): Context | undefined {
  const last = list.split(',').at(-1)?.trim() ?? '';
  return [...AROUND.keys()].find((context) => context === last);
}

/** The text of a whole configuration around an `include`. */
export function wholeAround(context: Context, include: string): string {
  const heads = AROUND.get(context) ?? [];
  return `${heads.map((head) => `${head} {\n`).join('')}include ${include};\n${'}'.repeat(heads.length)}\n`;
}

interface Statement {
  readonly name: string;
  readonly hasBlock: boolean;
}

/** The directives outside of all blocks, without `include`. */
function topStatements(pieces: readonly Piece[]): readonly Statement[] {
  const found: Statement[] = [];
  let depth = 0;
  let name: string | undefined;
  for (const { kind, value } of pieces) {
    if (kind === 'word') name ??= value;
    if (kind !== ';' && kind !== '{' && kind !== '}') continue;
    if (depth === 0 && name !== undefined && kind !== '}') found.push({ name, hasBlock: kind === '{' });
    depth += kind === '{' ? 1 : kind === '}' ? -1 : 0;
    name = undefined;
  }
  return found.filter((statement) => statement.name !== 'include');
}
