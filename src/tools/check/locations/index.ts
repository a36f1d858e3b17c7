import type { BlockView } from '../../../config/index.ts';
import type { CheckedConfig } from '../../../contract/index.ts';
import type { Budget, Patterns } from '../regex/index.ts';
import { type Reach, reachOf } from './reach.ts';
import { LocationTree, type CheckedLocation } from './tree.ts';

export { LocationTree, type CheckedLocation, quotedLocation, shownUri, wordsOf } from './tree.ts';
export type { Reach, LostUri } from './reach.ts';

/** Maximum number of states of all searches of one check: about a second on a slow machine. */
const MAX_STATES = 60_000;
/** Maximum number of regexes tried for all URIs: thousands of regexes lead to thousands of URIs. */
const MAX_TRIALS = 1_000_000;

/** The location trees of a configuration, and which requests reach their locations. */
export class Locations {
  readonly trees: readonly LocationTree[];
  readonly patterns: Patterns;
  readonly budget: Budget = { states: MAX_STATES };
  #trials = MAX_TRIALS;
  #unreachable: ReadonlySet<BlockView> | undefined;
  readonly #reaches = new Map<CheckedLocation, Reach>();

  constructor(config: CheckedConfig, patterns: Patterns) {
    this.patterns = patterns;
    this.trees = config.blocks('server').map((server) => new LocationTree(server, patterns));
  }

  /** All locations with the requests that reach them, without those nested in an unreachable one. */
  *reached(): Generator<{ readonly location: CheckedLocation; readonly reach: Reach }> {
    const lost = new Set<CheckedLocation>();
    for (const tree of this.trees) {
      for (const location of tree.levels.flatMap(({ locations }) => locations)) {
        const { around } = location.level;
        const reach = around && lost.has(around) ? NOTHING : this.#reachOf(location, tree);
        if (reach.kind === 'none') lost.add(location);
        if (!around || !lost.has(around)) yield { location, reach };
      }
    }
  }

  /** Returns whether no request can reach a block, because a location around it is unreachable. */
  isUnreachable(block: BlockView | undefined): boolean {
    this.#unreachable ??= new Set(
      [...this.reached()].flatMap(({ location, reach }) => (reach.kind === 'none' ? [location.block] : [])),
    );
    return block !== undefined && (this.#unreachable.has(block) || this.isUnreachable(block.outer));
  }

  #reachOf(location: CheckedLocation, tree: LocationTree): Reach {
    const { patterns, budget } = this;
    const known = this.#reaches.get(location);
    const reach = known ?? (this.#mayAsk(tree) ? reachOf(location, { tree, patterns, budget }) : UNKNOWN);
    this.#reaches.set(location, reach);
    return reach;
  }

  /** The location of a URI; `undefined` once the limit of trials is reached. */
  find(uri: string, tree: LocationTree): CheckedLocation | undefined {
    return this.#mayAsk(tree) ? tree.find(uri) : undefined;
  }

  #mayAsk(tree: LocationTree): boolean {
    this.#trials -= tree.regexes;
    return this.#trials >= 0;
  }
}

const UNKNOWN: Reach = { kind: 'unknown' };
const NOTHING: Reach = { kind: 'none', instead: undefined };
