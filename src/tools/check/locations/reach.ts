import {
  intersection,
  type Budget,
  except,
  type Language,
  type Machine,
  not,
  type Patterns,
  shortestWord,
} from '../regex/index.ts';
import { type LocationTree, type CheckedLocation, wayTo } from './tree.ts';

const PLAIN_CHARACTERS = '/\\x00-\\x1f\\x7f';
/** A segment of a path that is neither `.` nor `..`. */
const SEGMENT = `(?:[^.${PLAIN_CHARACTERS}][^${PLAIN_CHARACTERS}]*|\\.[^.${PLAIN_CHARACTERS}][^${PLAIN_CHARACTERS}]*|\\.\\.[^${PLAIN_CHARACTERS}]+)`;

/** Ordinary decoded paths: slashes merged, dots resolved, no control characters. */
function ordinaryUris(patterns: Patterns): Machine {
  return machineOf(`^(?:(?:/${SEGMENT})+/?|/)$`, patterns);
}

/** All decoded paths that a request can bring. */
function allUris(patterns: Patterns): Machine {
  return machineOf('^/[^\\x00]*$', patterns);
}

function machineOf(text: string, patterns: Patterns): Machine {
  return patterns.of(text, false)?.language as Machine;
}

/**
 * The requests that reach a location. `some`: `uri` does. `odd`: only requests with control characters or unresolved
 * dots, such as `uri`. `none`: no request does, which is proven; `instead` has a URI that matches and the location that
 * wins it, if there is one.
 */
export type Reach =
  | { readonly kind: 'some' | 'odd'; readonly uri: string; readonly instead?: LostUri | undefined }
  | { readonly kind: 'none'; readonly instead: LostUri | undefined }
  | { readonly kind: 'unknown' };

/** A URI that a location matches and another location wins. */
export interface LostUri {
  readonly uri: string;
  readonly winner: CheckedLocation;
}

/** The parts that searches in one tree share. */
interface ReachSearch {
  readonly tree: LocationTree;
  readonly patterns: Patterns;
  readonly budget: Budget;
}

const UNKNOWN: Reach = { kind: 'unknown' };

/** Maximum number of competing locations; with more, the result is unknown. */
const MAX_ROUNDS = 12;

/** Returns whether any request reaches a location or one nested in it. */
export function reachOf(location: CheckedLocation, asking: ReachSearch): Reach {
  const { tree, patterns } = asking;
  const guess = guessOf(location);
  if (guess !== undefined && tree.leadsTo(guess, location)) return { kind: 'some', uri: guess };
  // Nested regexes of a prefix location may win over a regex that wins over the location itself.
  if (location.match.kind === 'prefix' && hasLocations(location)) return UNKNOWN;
  if (location.match.kind === 'exact') return { kind: 'none', instead: lostUri(location.match.path, tree) };
  const must = machinesTo(wayTo(location));
  if (!must) return UNKNOWN;
  const ordinary = new Contest(location, asking).decide([ordinaryUris(patterns), ...must]);
  if (ordinary.kind !== 'none') return ordinary;
  const all = new Contest(location, asking).decide([allUris(patterns), ...must]);
  const instead = instance(location, asking);
  if (all.kind === 'some') return instead ? { kind: 'odd', uri: all.uri, instead } : UNKNOWN;
  return all.kind === 'none' ? { kind: 'none', instead } : all;
}

function hasLocations({ block }: CheckedLocation): boolean {
  return block.inner.some(({ context }) => context === 'location');
}

/** A URI that probably leads to a location. */
function guessOf({ match, pattern }: CheckedLocation): string | undefined {
  if (match.kind !== 'regex') return match.path;
  const sample = pattern?.sample;
  if (!sample) return undefined;
  const isPath = sample.isStart || sample.text.startsWith('/');
  const uri = isPath ? sample.text : `/a${sample.text}`;
  return uri.startsWith('/') && pattern.regex.test(uri) ? uri : undefined;
}

/** The conditions for a URI to match nested locations, without competing regexes; `undefined` if unknown. */
function machinesTo(way: readonly CheckedLocation[]): readonly Machine[] | undefined {
  const machines: Machine[] = [];
  for (const location of way) {
    const { match, pattern, level } = location;
    if (match.kind === 'regex') {
      if (!pattern?.language) return undefined;
      machines.push(
        pattern.language,
        level.prefixes.machine((longest) => !stops(longest)),
      );
    } else machines.push(level.prefixes.machine((longest) => longest === location));
  }
  return machines;
}

function stops(location: CheckedLocation | undefined): boolean {
  return location?.match.kind === 'prefix' && location.match.stop;
}

/** A URI that a location matches, and the location that wins it. */
function instance(location: CheckedLocation, { tree, patterns, budget }: ReachSearch): LostUri | undefined {
  const languages = wayTo(location).flatMap(({ match, pattern, level }): Machine[] => {
    if (match.kind === 'regex') return pattern?.language ? [pattern.language] : [];
    return [level.prefixes.machine((longest) => longest?.match === match)];
  });
  const { word } = shortestWord([ordinaryUris(patterns), ...languages], budget);
  return word === undefined ? undefined : lostUri(word, tree);
}

function lostUri(uri: string, tree: LocationTree): LostUri | undefined {
  const winner = tree.find(uri);
  return winner && { uri, winner };
}

/** Searches for a URI of a location in rounds: each round excludes a location that won the last URI. */
class Contest {
  readonly #location: CheckedLocation;
  readonly #asking: ReachSearch;
  readonly #lost: Machine[] = [];
  readonly #words: string[] = [];

  constructor(location: CheckedLocation, asking: ReachSearch) {
    this.#location = location;
    this.#asking = asking;
  }

  decide(must: readonly Machine[]): Reach {
    const { tree, budget } = this.#asking;
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const { word, none } = shortestWord([...must, ...this.#lost, except(this.#words)], budget);
      if (none) return { kind: 'none', instead: undefined };
      if (word === undefined) return UNKNOWN;
      if (tree.leadsTo(word, this.#location)) return { kind: 'some', uri: word };
      if (!this.#lose(word, tree.find(word))) return UNKNOWN;
    }
    return UNKNOWN;
  }

  /** Excludes all URIs that the winner of a URI takes; false if these are not known. */
  #lose(uri: string, winner: CheckedLocation | undefined): boolean {
    const way = wayTo(winner);
    const own = wayTo(this.#location);
    const fork = way.findIndex((location, depth) => location !== own[depth]);
    const rival = way[fork];
    if (!rival) return false;
    if (rival.match.kind === 'exact') return this.#words.push(uri) > 0;
    if (rival.match.kind === 'regex') return this.#loseTo(rival.pattern?.language);
    // Another prefix wins only by a regex or exact location nested in it.
    if (way.at(-1)?.match.kind === 'exact') return this.#words.push(uri) > 0;
    const machines = machinesTo(way.slice(fork));
    return this.#loseTo(machines && intersection(machines));
  }

  #loseTo(language: Language | undefined): boolean {
    if (language) this.#lost.push(not(language));
    return language !== undefined;
  }
}
