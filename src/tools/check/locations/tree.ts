import type { Span } from '../../../../grammar/index.ts';
import type { BlockView } from '../../../config/index.ts';
import { encodePath } from '../../../http/index.ts';
import { type LocationMatch, matchOf } from '../../../contract/index.ts';
import { locationText } from '../../../plan/index.ts';
import { LocationLevel } from '../../../compile/index.ts';
import { cutsAround, DEAD, type Machine, type Pattern, type Patterns } from '../regex/index.ts';

/** An automaton that finds the longest of some prefixes of a text. */
class PrefixTrie<T> {
  readonly #edges: Map<number, number>[] = [new Map()];
  /** By node: the value of the longest prefix up to it. */
  readonly #longest: (T | undefined)[] = [undefined];
  readonly #texts: string[] = [];
  #cuts: readonly number[] | undefined;
  #isSettled = true;

  set(prefix: string, value: T): void {
    let node = 0;
    for (let at = 0; at < prefix.length; at++) node = this.#next(node, prefix.charCodeAt(at));
    this.#longest[node] = value;
    this.#texts.push(prefix);
    this.#cuts = undefined;
    this.#isSettled = false;
  }

  /** The texts whose longest prefix meets a condition; `undefined` stands for no prefix. */
  machine(isRight: (longest: T | undefined) => boolean): Machine {
    this.#settle();
    // After leaving the trie the result is fixed: such states are numbered after its nodes.
    const away = this.#edges.length;
    const right = this.#longest.map((value) => isRight(value));
    const leave = (node: number): number => (right[node] ? away + node : DEAD);
    return {
      start: 0,
      cuts: (this.#cuts ??= cutsAround(this.#texts)),
      step: (state, unit) => (state >= away ? state : (this.#edges[state]?.get(unit) ?? leave(state))),
      accepts: (state) => right[state >= away ? state - away : state] === true,
    };
  }

  #next(node: number, unit: number): number {
    const known = this.#edges[node]?.get(unit);
    if (known !== undefined) return known;
    const added = this.#edges.push(new Map()) - 1;
    this.#edges[node]?.set(unit, added);
    this.#longest.push(undefined);
    return added;
  }

  /** Fills in inherited values. A node follows its parent in order, so the parent's value is already there. */
  #settle(): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    for (const [node, edges] of this.#edges.entries()) {
      for (const next of edges.values()) this.#longest[next] ??= this.#longest[node];
    }
  }
}

/** A location that can match URIs. */
export interface CheckedLocation {
  readonly block: BlockView;
  readonly match: Exclude<LocationMatch, { kind: 'named' }>;
  /** The pattern of a regex location. */
  readonly pattern: Pattern | undefined;
  readonly level: CheckedLevel;
}

/** The locations of one block. */
interface CheckedLevel {
  /** The enclosing location; absent on the server level. */
  readonly around: CheckedLocation | undefined;
  /** In file order. */
  readonly locations: readonly CheckedLocation[];
  readonly prefixes: PrefixTrie<CheckedLocation>;
}

/** The locations of a server. URIs are looked up in the same kind of tree that serves requests. */
export class LocationTree {
  readonly levels: readonly CheckedLevel[];
  readonly #patterns: Patterns;
  #regexes = 0;
  readonly #root: LocationLevel<CheckedLocation>;

  constructor(server: BlockView, patterns: Patterns) {
    this.#patterns = patterns;
    const levels: CheckedLevel[] = [];
    this.#root = this.#add(server, undefined, levels);
    this.levels = levels;
  }

  /** Number of regexes, which bounds the cost of a lookup. */
  get regexes(): number {
    return this.#regexes;
  }

  find(uri: string): CheckedLocation | undefined {
    return this.#root.find(uri)?.target;
  }

  /** True if a URI leads to the location or to one nested in it. */
  leadsTo(uri: string, location: CheckedLocation): boolean {
    return wayTo(this.find(uri)).includes(location);
  }

  #add(
    block: BlockView,
    around: CheckedLocation | undefined,
    levels: CheckedLevel[],
  ): LocationLevel<CheckedLocation> {
    const locations: CheckedLocation[] = [];
    const level: CheckedLevel = { around, locations, prefixes: new PrefixTrie<CheckedLocation>() };
    levels.push(level);
    const search = new LocationLevel<CheckedLocation>();
    const taken = new Set<string>();
    for (const inner of block.inner) {
      const match = matchOf(inner);
      if (!match || match.kind === 'named') continue;
      // The second of two equal locations is ignored; another rule reports it.
      if (match.kind !== 'regex' && taken.size === taken.add(`${match.kind} ${match.path}`).size) continue;
      const pattern = match.kind === 'regex' ? this.#patterns.read(match.regex, match.caseless) : undefined;
      const location: CheckedLocation = { block: inner, match, pattern, level };
      locations.push(location);
      if (pattern) this.#regexes += 1;
      const nested = inner.inner.some(({ context }) => context === 'location')
        ? this.#add(inner, location, levels)
        : undefined;
      addTo(search, location, nested);
    }
    return search;
  }
}

function addTo(
  search: LocationLevel<CheckedLocation>,
  location: CheckedLocation,
  inner: LocationLevel<CheckedLocation> | undefined,
): void {
  const { match, level } = location;
  const here = { target: location, inner };
  if (match.kind === 'exact') search.addExact(match.path, here);
  else if (match.kind === 'regex')
    search.addRegex({ ...here, regex: location.pattern?.regex ?? new RegExp(match.regex.source) });
  else {
    search.addPrefix(match.path, { ...here, stop: match.stop });
    level.prefixes.set(match.path, location);
  }
}

/** The locations around a location, outermost first, and the location itself. */
export function wayTo(location: CheckedLocation | undefined): readonly CheckedLocation[] {
  return location ? [...wayTo(location.level.around), location] : [];
}

/** The text of a location in double quotes. */
export function quotedLocation({ match }: CheckedLocation): string {
  return `"${locationText(match)}"`;
}

/** The span of a location's arguments. */
export function wordsOf({ block }: CheckedLocation): Span {
  const { name, args } = block.node!;
  const last = args.at(-1) ?? name;
  return { ...last.span, start: (args[0] ?? name).span.start };
}

/** The encoded form of a path, as a client sends it. */
export function shownUri(uri: string): string {
  return encodePath(uri);
}
