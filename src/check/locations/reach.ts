import {
  both,
  type Budget,
  except,
  type Language,
  type Machine,
  not,
  type Patterns,
  shortestWord,
} from '../regex/index.ts';
import { type LocationTree, type Place, wayTo } from './tree.ts';

const PLAIN_CHARACTERS = '/\\x00-\\x1f\\x7f';
/** A segment of a path that is left when `.` and `..` are resolved. */
const SEGMENT = `(?:[^.${PLAIN_CHARACTERS}][^${PLAIN_CHARACTERS}]*|\\.[^.${PLAIN_CHARACTERS}][^${PLAIN_CHARACTERS}]*|\\.\\.[^${PLAIN_CHARACTERS}]+)`;

/** Decoded paths as requests bring them: slashes merged, dots resolved, no control characters. */
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
 * Which requests get to a location. `some`: `uri` does. `odd`: only such with control characters or unresolved dots, as
 * `uri`. `none`: proven; `uri` would match, but `winner` takes it, both absent where nothing matches at all.
 */
export type Reach =
  | { readonly kind: 'some' | 'odd'; readonly uri: string; readonly instead?: Taken | undefined }
  | { readonly kind: 'none'; readonly instead: Taken | undefined }
  | { readonly kind: 'unknown' };

/** A URI that a location matches, and the location that gets it. */
export interface Taken {
  readonly uri: string;
  readonly winner: Place;
}

/** What the questions of one check share. */
export interface Asking {
  readonly tree: LocationTree;
  readonly patterns: Patterns;
  readonly budget: Budget;
}

const UNKNOWN: Reach = { kind: 'unknown' };

/** Beyond this many competitors nothing is claimed. */
const MAX_ROUNDS = 12;

/** Whether any request gets to a location or to one nested in it. */
export function reachOf(place: Place, asking: Asking): Reach {
  const { tree, patterns } = asking;
  const guess = guessOf(place);
  if (guess !== undefined && tree.leadsTo(guess, place)) return { kind: 'some', uri: guess };
  // What is nested in a prefix location may take requests past a regex that the location itself loses to.
  if (place.match.kind === 'prefix' && hasLocations(place)) return UNKNOWN;
  if (place.match.kind === 'exact') return { kind: 'none', instead: takenFrom(place.match.path, tree) };
  const must = machinesTo(wayTo(place));
  if (!must) return UNKNOWN;
  const ordinary = new Contest(place, asking).decide([ordinaryUris(patterns), ...must]);
  if (ordinary.kind !== 'none') return ordinary;
  const all = new Contest(place, asking).decide([allUris(patterns), ...must]);
  const instead = instance(place, asking);
  if (all.kind === 'some') return instead ? { kind: 'odd', uri: all.uri, instead } : UNKNOWN;
  return all.kind === 'none' ? { kind: 'none', instead } : all;
}

function hasLocations({ block }: Place): boolean {
  return block.inner.some(({ context }) => context === 'location');
}

/** A text that is likely to lead to a location. */
function guessOf({ match, pattern }: Place): string | undefined {
  if (match.kind !== 'regex') return match.path;
  const sample = pattern?.sample;
  if (!sample) return undefined;
  const isPath = sample.isStart || sample.text.startsWith('/');
  const uri = isPath ? sample.text : `/a${sample.text}`;
  return uri.startsWith('/') && pattern.regex.test(uri) ? uri : undefined;
}

/** What a URI must be to lead along a way, competing regexes left out; `undefined` where a pattern is not known. */
function machinesTo(way: readonly Place[]): readonly Machine[] | undefined {
  const machines: Machine[] = [];
  for (const place of way) {
    const { match, pattern, level } = place;
    if (match.kind === 'regex') {
      if (!pattern?.language) return undefined;
      machines.push(
        pattern.language,
        level.prefixes.machine((longest) => !stops(longest)),
      );
    } else machines.push(level.prefixes.machine((longest) => longest === place));
  }
  return machines;
}

function stops(place: Place | undefined): boolean {
  return place?.match.kind === 'prefix' && place.match.stop;
}

/** A URI that matches a location by its own words, and who gets it. */
function instance(place: Place, { tree, patterns, budget }: Asking): Taken | undefined {
  const languages = wayTo(place).flatMap(({ match, pattern, level }): Machine[] => {
    if (match.kind === 'regex') return pattern?.language ? [pattern.language] : [];
    return [level.prefixes.machine((longest) => longest?.match === match)];
  });
  const { word } = shortestWord([ordinaryUris(patterns), ...languages], budget);
  return word === undefined ? undefined : takenFrom(word, tree);
}

function takenFrom(uri: string, tree: LocationTree): Taken | undefined {
  const winner = tree.find(uri);
  return winner && { uri, winner };
}

/** Looks for a URI of a location round by round: each location that takes one away is left out of the next round. */
class Contest {
  readonly #place: Place;
  readonly #asking: Asking;
  readonly #lost: Machine[] = [];
  readonly #words: string[] = [];

  constructor(place: Place, asking: Asking) {
    this.#place = place;
    this.#asking = asking;
  }

  decide(must: readonly Machine[]): Reach {
    const { tree, budget } = this.#asking;
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const { word, none } = shortestWord([...must, ...this.#lost, except(this.#words)], budget);
      if (none) return { kind: 'none', instead: undefined };
      if (word === undefined) return UNKNOWN;
      if (tree.leadsTo(word, this.#place)) return { kind: 'some', uri: word };
      if (!this.#lose(word, tree.find(word))) return UNKNOWN;
    }
    return UNKNOWN;
  }

  /** Leaves out what the winner of a URI takes of the location's others as well; false where that is not known. */
  #lose(uri: string, winner: Place | undefined): boolean {
    const way = wayTo(winner);
    const own = wayTo(this.#place);
    const fork = way.findIndex((place, depth) => place !== own[depth]);
    const rival = way[fork];
    if (!rival) return false;
    if (rival.match.kind === 'exact') return this.#words.push(uri) > 0;
    if (rival.match.kind === 'regex') return this.#loseTo(rival.pattern?.language);
    // A prefix that is not ours wins by a regex or an exact location nested in it.
    if (way.at(-1)?.match.kind === 'exact') return this.#words.push(uri) > 0;
    const machines = machinesTo(way.slice(fork));
    return this.#loseTo(machines && both(machines));
  }

  #loseTo(language: Language | undefined): boolean {
    if (language) this.#lost.push(not(language));
    return language !== undefined;
  }
}
