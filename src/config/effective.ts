import { placeOf } from '../../grammar/index.ts';
import type { ConfigTree, DirectiveNode, Span } from '../../grammar/index.ts';
import { writtenWords } from './combined.ts';
import { secretSpans } from './dump.ts';
import type { Registry } from './registry.ts';
import type { Context } from './row.ts';
import type { BlockView } from './view.ts';

/** A directive that holds in a block. */
export interface EffectiveDirective {
  readonly directive: string;
  readonly module: string;
  /** As written, secrets masked. */
  readonly words: readonly string[];
  /** `file:line`. */
  readonly place: string;
  /** It stands in a block around this one. */
  readonly inherited: boolean;
  /** What it means, where that is a plain value and no secret: times in milliseconds, sizes in bytes. */
  readonly value?: string | number | boolean;
}

/** A block, what holds in it, and the blocks inside. */
export interface EffectiveBlock {
  readonly context: Context;
  /** Behind the name of the block. */
  readonly words: readonly string[];
  /** `file:line`; '' for the main level. */
  readonly place: string;
  readonly directives: readonly EffectiveDirective[];
  readonly blocks: readonly EffectiveBlock[];
}

/** What holds where, inheritance done. Defaults are left out. */
export function effectiveBlock(main: BlockView, tree: ConfigTree, registry: Registry): EffectiveBlock {
  const secrets = secretSpans(tree, registry);
  const hidden = new Set(registry.entries.flatMap(({ name, row }) => (row.secret ? [name] : [])));
  const blockOf = (view: BlockView): EffectiveBlock => ({
    context: view.context,
    words: view.node ? writtenWords(view.node, secrets) : [],
    place: view.node ? placeText(view.node.name.span) : '',
    directives: registry.owners.flatMap((module) => directivesOf(view, module, { secrets, hidden })),
    blocks: view.inner.map(blockOf),
  });
  return blockOf(main);
}

interface Hiding {
  readonly secrets: readonly Span[];
  /** Names of directives that hold secrets. */
  readonly hidden: ReadonlySet<string>;
}

function directivesOf(
  view: BlockView,
  module: string,
  { secrets, hidden }: Hiding,
): readonly EffectiveDirective[] {
  const own = new Set(view.own());
  return [...view.from(module).values()].flatMap(({ nodes, value }) =>
    nodes.map((node) => {
      const isShown = nodes.length === 1 && isPlain(value) && !isSecret(node, hidden);
      return {
        directive: node.name.value,
        module,
        words: writtenWords(node, secrets),
        place: placeText(node.name.span),
        inherited: !own.has(node),
        ...(isShown && { value }),
      };
    }),
  );
}

function isPlain(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value);
}

/** What comes from the environment or a file may be one wherever it is used. */
function isSecret({ name, args }: DirectiveNode, hidden: ReadonlySet<string>): boolean {
  return hidden.has(name.value) || args.some(({ secret }) => secret);
}

function placeText(span: Span): string {
  const { file, line } = placeOf(span);
  return `${file}:${line}`;
}
