import type { CheckedConfig } from '../../contract/index.ts';
import type { Budget, Patterns } from '../regex/index.ts';
import { type Reach, reachOf } from './reach.ts';
import { LocationTree, type CheckedLocation } from './tree.ts';

export {
  LocationTree,
  wayTo,
  type CheckedLevel,
  type CheckedLocation,
  quotedLocation,
  shownUri,
  wordsOf,
} from './tree.ts';
export { reachOf, type ReachSearch, type Reach, type LostUri } from './reach.ts';

/** What all searches of one check may cost: about a second on a slow machine. */
const MAX_STATES = 60_000;
/** How many regexes may be tried for all URIs that are asked for: thousands of them make thousands of questions. */
const MAX_TRIALS = 1_000_000;

/** The location trees of a configuration, and what is known of their locations. */
export class Locations {
  readonly trees: readonly LocationTree[];
  readonly patterns: Patterns;
  readonly budget: Budget = { states: MAX_STATES };
  #trials = MAX_TRIALS;
  readonly #reaches = new Map<CheckedLocation, Reach>();

  constructor(config: CheckedConfig, patterns: Patterns) {
    this.patterns = patterns;
    this.trees = config.blocks('server').map((server) => new LocationTree(server, patterns));
  }

  /** Every location of every server with what requests get to it, those nested in one that gets none left out. */
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

  #reachOf(location: CheckedLocation, tree: LocationTree): Reach {
    const { patterns, budget } = this;
    const known = this.#reaches.get(location);
    const reach = known ?? (this.#mayAsk(tree) ? reachOf(location, { tree, patterns, budget }) : UNKNOWN);
    this.#reaches.set(location, reach);
    return reach;
  }

  /** Where a URI leads, as long as looking it up costs too little to matter. */
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
