import { type Piece, piecesOf, type Source } from '../../grammar/index.ts';
import type { Context, Registry } from '../config/index.ts';

/** Where a piece of configuration can stand by itself, the usual ones first; what has to be around it. */
const AROUND: ReadonlyMap<Context, readonly string[]> = new Map<Context, readonly string[]>([
  ['http', ['http']],
  ['server', ['http', 'server']],
  ['location', ['http', 'server', 'location /']],
  ['upstream', ['http', 'upstream fragment']],
  ['location if', ['http', 'server', 'location /', 'if ($args)']],
  ['limit_except', ['http', 'server', 'location /', 'limit_except GET']],
  ['server if', ['http', 'server', 'if ($args)']],
  ['events', ['events']],
  ['check', ['check']],
]);

/** The contexts that `--context` and `# gw-context:` know. */
export const FRAGMENT_CONTEXTS: readonly string[] = [...AROUND.keys()];

/** Rules about what may well be in another file. */
const NEED_THE_WHOLE: ReadonlySet<string> = new Set([
  'unknown-variable',
  'bad-reference',
  'missing-resolver',
  'static-dns',
  'events-zone-missing',
  'flag-undefined',
]);

/** Whether a rule can be asked about a piece of configuration. */
export function judgesFragments(slug: string): boolean {
  return !NEED_THE_WHOLE.has(slug);
}

/**
 * Where a text stands by itself: `main` for a whole configuration, else the context that its comment
 * (`# gw-context: http, server`) or all of its directives name; undefined where nothing tells.
 */
export function contextOf(source: Source, registry: Registry): Context | undefined {
  // Most are whole ones, and large ones need not be read twice for that.
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

/** The last of the contexts that somebody lists from the outside in: `http, server`. */
export function innermost(list: string): Context | undefined {
  const last = list.split(',').at(-1)?.trim() ?? '';
  return [...AROUND.keys()].find((context) => context === last);
}

/** A whole configuration around an `include`. */
export function wholeAround(context: Context, include: string): string {
  const heads = AROUND.get(context) ?? [];
  return `${heads.map((head) => `${head} {\n`).join('')}include ${include};\n${'}'.repeat(heads.length)}\n`;
}

interface Statement {
  readonly name: string;
  readonly hasBlock: boolean;
}

/** The directives outside of all blocks; an `include` says nothing. */
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
