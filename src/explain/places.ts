import { BlockView } from '../config/index.ts';
import type { BoundConfig, Registry } from '../config/index.ts';
import type { ConfigTree } from '../../grammar/index.ts';
import type { GatewayPlan, LocationPlan, ServerPlan } from '../plan/index.ts';

/** A place of the plan in the text. */
export interface PlaceFacts {
  readonly view: BlockView;
  readonly server: ServerPlan;
  readonly role: 'server' | 'location' | 'block';
}

/** What of a load places are made of. */
export interface LoadedParts {
  readonly plan: GatewayPlan;
  readonly tree: ConfigTree;
  readonly bound: BoundConfig;
  readonly registry: Registry;
}

/** Where the servers, locations and blocks of a plan stand in the text that it was made of. */
export class Places {
  readonly #byPlan = new Map<LocationPlan, PlaceFacts>();
  readonly #servers = new Map<ServerPlan, BlockView>();

  constructor({ plan, tree, bound, registry }: LoadedParts) {
    const main = new BlockView(bound.main, { registry, directives: tree.directives });
    const blocks = childrenOf(main, 'http').flatMap((http) => childrenOf(http, 'server'));
    for (const [index, server] of plan.servers.entries()) {
      const view = blocks[index];
      if (view) this.#addServer(server, view);
    }
  }

  of(plan: LocationPlan): PlaceFacts | undefined {
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

  /** Plans and blocks of one level stand in the same order. */
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
