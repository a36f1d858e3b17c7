import { LocationLevel } from '../../compile/index.ts';
import type { BlockView } from '../../config/index.ts';
import type { LocationMatch } from '../../contract/index.ts';
import type { Pattern, Patterns } from '../regex/index.ts';
import { PrefixTrie } from './prefix-trie.ts';

/** A location that URIs may lead to. */
export interface Place {
  readonly block: BlockView;
  readonly match: Exclude<LocationMatch, { kind: 'named' }>;
  /** Of a regex location. */
  readonly pattern: Pattern | undefined;
  readonly level: Level;
}

/** The locations of one block. */
export interface Level {
  /** The location that they are nested in; absent on server level. */
  readonly around: Place | undefined;
  /** In file order. */
  readonly places: readonly Place[];
  readonly prefixes: PrefixTrie<Place>;
}

/** The locations of a server, and where a URI leads: asked of the very tree that serves requests. */
export class LocationTree {
  readonly levels: readonly Level[];
  readonly #patterns: Patterns;
  #regexes = 0;
  readonly #root: LocationLevel<Place>;

  constructor(server: BlockView, patterns: Patterns) {
    this.#patterns = patterns;
    const levels: Level[] = [];
    this.#root = this.#add(server, undefined, levels);
    this.levels = levels;
  }

  /** How many regexes there are: what a question may cost. */
  get regexes(): number {
    return this.#regexes;
  }

  find(uri: string): Place | undefined {
    return this.#root.find(uri)?.target;
  }

  /** The location itself answers, or one that is nested in it. */
  leadsTo(uri: string, place: Place): boolean {
    return wayTo(this.find(uri)).includes(place);
  }

  #add(block: BlockView, around: Place | undefined, levels: Level[]): LocationLevel<Place> {
    const places: Place[] = [];
    const level: Level = { around, places, prefixes: new PrefixTrie<Place>() };
    levels.push(level);
    const search = new LocationLevel<Place>();
    const taken = new Set<string>();
    for (const inner of block.inner) {
      const match = inner.args as LocationMatch | undefined;
      if (inner.context !== 'location' || !match || match.kind === 'named') continue;
      // The second of a duplicate counts for nothing; that it is there is another rule's concern.
      if (match.kind !== 'regex' && taken.size === taken.add(`${match.kind} ${match.path}`).size) continue;
      const pattern = match.kind === 'regex' ? this.#patterns.read(match.regex, match.caseless) : undefined;
      const place: Place = { block: inner, match, pattern, level };
      places.push(place);
      if (pattern) this.#regexes += 1;
      const nested = inner.inner.some(({ context }) => context === 'location')
        ? this.#add(inner, place, levels)
        : undefined;
      addTo(search, place, nested);
    }
    return search;
  }
}

function addTo(search: LocationLevel<Place>, place: Place, inner: LocationLevel<Place> | undefined): void {
  const { match, level } = place;
  const here = { target: place, inner };
  if (match.kind === 'exact') search.addExact(match.path, here);
  else if (match.kind === 'regex')
    search.addRegex({ ...here, regex: place.pattern?.regex ?? new RegExp(match.regex.source) });
  else {
    search.addPrefix(match.path, { ...here, stop: match.stop });
    level.prefixes.set(match.path, place);
  }
}

/** The locations that a location is nested in, outermost first, and itself. */
export function wayTo(place: Place | undefined): readonly Place[] {
  return place ? [...wayTo(place.level.around), place] : [];
}
