import { type ConfigTree, type DirectiveNode, placeText, type Span } from '../../../grammar/index.ts';
import { BlockView, type BoundConfig, type Registry } from '../../config/index.ts';
import type { AnyModule } from '../../contract/index.ts';
import { MASK } from '../../log/index.ts';
import type { GatewayPlan, LocationPlan, ServerPlan } from '../../plan/index.ts';

/** The text of directives with secrets masked. `spoken`: further secrets, of the request. */
export class DirectiveText {
  readonly #secrets: readonly Span[];
  readonly #texts: readonly string[];

  constructor(secrets: readonly Span[], spoken: readonly string[]) {
    this.#secrets = secrets;
    this.#texts = [...secrets.map(({ source, start, end }) => source.text.slice(start, end)), ...spoken]
      .filter((text) => text !== '')
      .sort((a, b) => b.length - a.length);
  }

  /** A directive in one line, without the content of its block. */
  directive({ name, args, block }: DirectiveNode): string {
    const last = args.at(-1)?.span ?? name.span;
    const words = [name, ...args].map(({ span }) => this.#masked(span));
    return last.source === name.span.source ? `${words.join(' ')}${block ? ' { … }' : ''}` : words.join(' ');
  }

  /** A computed text in which secrets of the configuration are masked. */
  masked(text: string): string {
    return this.#texts.reduce((shown, secret) => shown.replaceAll(secret, MASK), text);
  }

  #masked(span: Span): string {
    const { source, start, end } = span;
    let shown = '';
    let at = start;
    for (const secret of this.#secrets) {
      if (secret.source !== source || secret.start < at || secret.end > end) continue;
      shown += source.text.slice(at, secret.start) + MASK;
      at = secret.end;
    }
    return (shown + source.text.slice(at, end)).replace(/\s+/g, ' ');
  }
}

/** A block of the configuration that a plan was made from. */
export interface PlanBlock {
  readonly view: BlockView;
  readonly server: ServerPlan;
  readonly role: 'server' | 'location' | 'block';
}

/** The parts of a load that `PlanBlocks` needs. */
export interface LoadedParts {
  readonly plan: GatewayPlan;
  readonly tree: ConfigTree;
  readonly bound: BoundConfig;
  readonly registry: Registry;
}

/** Maps the servers, locations and blocks of a plan to the blocks of the configuration. */
export class PlanBlocks {
  readonly #byPlan = new Map<LocationPlan, PlanBlock>();
  readonly #servers = new Map<ServerPlan, BlockView>();

  constructor({ plan, tree, bound, registry }: LoadedParts) {
    const main = new BlockView(bound.main, { registry, directives: tree.directives });
    const blocks = childrenOf(main, 'http').flatMap((http) => childrenOf(http, 'server'));
    for (const [index, server] of plan.servers.entries()) {
      const view = blocks[index];
      if (view) this.#addServer(server, view);
    }
  }

  of(plan: LocationPlan): PlanBlock | undefined {
    return this.#byPlan.get(plan);
  }

  view(plan: LocationPlan): BlockView | undefined {
    return this.#byPlan.get(plan)?.view;
  }

  server(plan: ServerPlan): BlockView | undefined {
    return this.#servers.get(plan);
  }

  #addServer(server: ServerPlan, view: BlockView): void {
    this.#servers.set(server, view);
    this.#byPlan.set(server.root, { view, server, role: 'server' });
    this.#addBlocks(server.root, view, server);
    const locations = childrenOf(view, 'location');
    const isNamed = ({ args }: BlockView): boolean => (args as { kind?: string }).kind === 'named';
    this.#addAll(
      server.root.locations,
      locations.filter((location) => !isNamed(location)),
      server,
    );
    this.#addAll(server.named, locations.filter(isNamed), server);
  }

  /** Plans and blocks of one level are in the same order. */
  #addAll(plans: readonly LocationPlan[], views: readonly BlockView[], server: ServerPlan): void {
    for (const [index, plan] of plans.entries()) {
      const view = views[index];
      if (!view) continue;
      this.#byPlan.set(plan, { view, server, role: 'location' });
      this.#addBlocks(plan, view, server);
      this.#addAll(plan.locations, childrenOf(view, 'location'), server);
    }
  }

  #addBlocks({ blocks = [] }: LocationPlan, around: BlockView, server: ServerPlan): void {
    const nodes = around.own();
    for (const { nth, plan } of blocks) {
      const view = around.inner.find(({ node }) => node !== undefined && node === nodes[nth]);
      if (view) this.#byPlan.set(plan, { view, server, role: 'block' });
    }
  }
}

function childrenOf(block: BlockView, context: BlockView['context']): readonly BlockView[] {
  return block.inner.filter(
    (child) => child.context === context && (context !== 'location' || child.args !== undefined),
  );
}

/** A block in which to look for a module's directive. */
interface ModuleSearch {
  readonly view: BlockView | undefined;
  readonly loaded: { readonly modules: readonly AnyModule[] };
  /** Index of the deciding directive in its list. */
  readonly nth?: number | undefined;
}

/** The place of the directive that makes a module serve the block, or of its first directive there; '' if none. */
export function modulePlace(name: string, { view, loaded, nth = 0 }: ModuleSearch): string {
  const content = [loaded.modules.find((module) => module.name === name)?.content ?? []].flat();
  const fields = view ? [...view.from(name)] : [];
  const own = new Set(view?.own());
  // What stands in the block itself says more than what it inherits.
  const [, field] =
    fields.find(([each]) => content.includes(each)) ??
    fields.find(([, { nodes }]) => nodes.some((node) => own.has(node))) ??
    fields.find(([, { nodes }]) => nodes.length > 0) ??
    [];
  return placeText((field?.nodes[nth] ?? field?.nodes[0])?.name.span);
}
