import { type LocationPlan, locationText } from '../../plan/index.ts';
import type { LocationCandidate } from './account.ts';

/** Maximum number of locations of a kind and level that are listed although they do not match, the nearest first. */
const NEAREST = 3;

/** The locations that a URI was compared with, in order, and the result of each comparison. */
export interface Search {
  readonly candidates: readonly LocationCandidate[];
  /** Number of locations that do not match and are not listed. */
  readonly unnamed: number;
  readonly found: LocationPlan | undefined;
}

interface LevelSearch extends Search {
  /** True if no outer location can win anymore. */
  readonly final: boolean;
}

/**
 * Explains why a search ended at `found`: exact locations, the longest prefix with its nested locations, regexes in
 * file order (nginx ngx_http_core_find_location). The compiled tree decides; this only explains its decision.
 */
export function searchOf(locations: readonly LocationPlan[], uri: string, found?: LocationPlan): Search {
  return new Level({ uri, depth: 0, redirecting: slashlessOf(uri, found) }).search(locations);
}

/** The location that redirects a path without its trailing slash, like an exact match. */
function slashlessOf(uri: string, found: LocationPlan | undefined): LocationPlan | undefined {
  return found?.match?.kind === 'prefix' && found.match.path === `${uri}/` ? found : undefined;
}

type Kind = NonNullable<LocationPlan['match']>['kind'];
type Of<K extends Kind> = LocationPlan & {
  readonly match: Extract<NonNullable<LocationPlan['match']>, { readonly kind: K }>;
};

function ofKind<K extends Kind>(locations: readonly LocationPlan[], kind: K): readonly Of<K>[] {
  return locations.filter((location): location is Of<K> => location.match?.kind === kind);
}

interface SearchInput {
  readonly uri: string;
  readonly depth: number;
  readonly redirecting: LocationPlan | undefined;
}

/** The locations of one block. */
class Level {
  readonly #searching: SearchInput;
  readonly #candidates: LocationCandidate[] = [];
  #unnamed = 0;

  constructor(searching: SearchInput) {
    this.#searching = searching;
  }

  search(locations: readonly LocationPlan[]): LevelSearch {
    const { uri, redirecting } = this.#searching;
    const exact = ofKind(locations, 'exact').find(({ match }) => match.path === uri);
    if (exact) return this.#ends(exact, 'exactly the path: nothing else is asked');
    if (redirecting && locations.includes(redirecting))
      return this.#ends(redirecting, 'only its last slash is missing: redirects there');
    this.#unfit(ofKind(locations, 'exact'), 'is not exactly the path');
    const prefixes = ofKind(locations, 'prefix').toSorted(
      (a, b) => b.match.path.length - a.match.path.length,
    );
    return this.#longest(prefixes, ofKind(locations, 'regex'));
  }

  /** `prefixes` are sorted from the longest to the shortest. */
  #longest(prefixes: readonly Of<'prefix'>[], regexes: readonly Of<'regex'>[]): LevelSearch {
    const { uri } = this.#searching;
    const fits = ({ match }: Of<'prefix'>): boolean => uri.startsWith(match.path);
    const [longest, ...shorter] = prefixes.filter(fits);
    const nested = longest && this.#inside(longest);
    const reason = longest && unaskedReason(longest, nested);
    const regex =
      reason === undefined
        ? regexes.find(({ match }) => new RegExp(match.regex.source).test(uri))
        : undefined;
    if (longest) this.#addLongest(longest, { nested, regex, isAlone: regexes.length === 0 });
    for (const location of shorter) this.#add(location, `shorter than "${textOf(longest)}"`);
    const unfit = prefixes.filter((location) => !fits(location));
    this.#unfit(unfit, 'is no prefix of the path');
    if (reason !== undefined) {
      for (const location of regexes) this.#add(location, `not asked: ${reason}`);
      return this.#result(nested?.found ?? longest, nested?.final ?? false);
    }
    return regex ? this.#regexes(regexes, regex) : this.#none(regexes, nested?.found ?? longest);
  }

  #addLongest(
    longest: Of<'prefix'>,
    {
      nested,
      regex,
      isAlone,
    }: { nested: LevelSearch | undefined; regex: LocationPlan | undefined; isAlone: boolean },
  ): void {
    const ending = longest.match.stop
      ? ': "^~" keeps the regexes away'
      : isAlone
        ? ''
        : ', and no regex matches';
    const why = regex
      ? `longest prefix, but the regex "${textOf(regex)}" matches`
      : nested?.found
        ? 'longest prefix: the search goes on inside'
        : `longest prefix${ending}`;
    const through = !regex && nested?.found !== undefined;
    this.#add(longest, why, { chosen: !regex && !through, through });
    const lost = ({ through, ...each }: LocationCandidate): LocationCandidate => {
      if (!regex) return through ? { ...each, through } : each;
      return each.chosen || through
        ? { ...each, chosen: false, why: 'fits, but a regex further out matches' }
        : each;
    };
    this.#candidates.push(...(nested?.candidates ?? []).map(lost));
    this.#unnamed += nested?.unnamed ?? 0;
  }

  #regexes(regexes: readonly Of<'regex'>[], regex: Of<'regex'>): LevelSearch {
    const inner = this.#inside(regex);
    const at = regexes.indexOf(regex);
    for (const [index, location] of regexes.entries()) {
      if (index < at) this.#add(location, 'does not match');
      else if (index > at) this.#add(location, 'not asked: an earlier regex matches');
      else {
        const more = inner.found ? ': the search goes on inside' : '';
        const through = inner.found !== undefined;
        this.#add(location, `the first regex that matches${more}`, { chosen: !through, through });
        this.#candidates.push(...inner.candidates);
        this.#unnamed += inner.unnamed;
      }
    }
    return this.#result(inner.found ?? regex, true);
  }

  #none(regexes: readonly Of<'regex'>[], found: LocationPlan | undefined): LevelSearch {
    for (const location of regexes) this.#add(location, 'does not match');
    return this.#result(found, false);
  }

  #inside({ locations }: LocationPlan): LevelSearch {
    return new Level({ ...this.#searching, depth: this.#searching.depth + 1 }).search(locations);
  }

  /** Adds locations that do not match, those with the longest common beginning first. */
  #unfit(locations: readonly (Of<'exact'> | Of<'prefix'>)[], why: string): void {
    const { uri } = this.#searching;
    const nearest = locations
      .map((location) => ({ location, shared: sharedLength(location.match.path, uri) }))
      .toSorted((a, b) => b.shared - a.shared);
    for (const { location } of nearest.slice(0, NEAREST)) this.#add(location, why);
    this.#unnamed += Math.max(0, nearest.length - NEAREST);
  }

  #add(location: LocationPlan, why: string, { chosen = false, through = false } = {}): void {
    const { depth } = this.#searching;
    const facts = { text: textOf(location), place: location.place, chosen, why, depth };
    this.#candidates.push(through ? { ...facts, through } : facts);
  }

  #ends(location: LocationPlan, why: string): LevelSearch {
    this.#add(location, why, { chosen: true });
    return this.#result(location, true);
  }

  #result(found: LocationPlan | undefined, final: boolean): LevelSearch {
    return { candidates: this.#candidates, unnamed: this.#unnamed, found, final };
  }
}

/** The reason why the regexes of a level are not tried; `undefined` if they are. */
function unaskedReason({ match }: Of<'prefix'>, nested: LevelSearch | undefined): string | undefined {
  if (nested?.found && nested.final) return `"${textOf(nested.found)}" inside decides`;
  return match.stop ? `"${locationText(match)}" keeps the regexes away` : undefined;
}

function textOf(location: LocationPlan | undefined): string {
  return location?.match ? locationText(location.match) : '';
}

function sharedLength(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length++;
  return length;
}
