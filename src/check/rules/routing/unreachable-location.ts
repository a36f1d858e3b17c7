import { analysisOf } from '../../analysis.ts';
import { named, shownUri, wordsOf } from '../../locations/index.ts';
import type { Place, Taken } from '../../locations/index.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

export const unreachableLocation: Rule = {
  id: 'GW201',
  slug: 'unreachable-location',
  severity: 'warning',
  summary: 'a location that no request ever gets to',
  why: 'Another location takes every request first: an exact one, a "^~" prefix, or a regex that comes earlier in the file and matches all that this one does. What stands in this location, a "deny" included, has no effect.',
  fix: 'Put the narrower regex in front of the broader one, or narrow the location that wins.',
  bad: {
    text: 'location ~ ^/docs/ { return 200 docs; }\nlocation ~ ^/docs/.*\\.pdf$ { return 200 pdf; }',
  },
  good: {
    text: 'location ~ ^/docs/.*\\.pdf$ { return 200 pdf; }\nlocation ~ ^/docs/ { return 200 docs; }',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { place, reach } of analysisOf(config).locations.reached()) {
      if (reach.kind === 'none') yield problemOf(place, reach.instead);
    }
  },
};

function problemOf(place: Place, instead: Taken | undefined): Problem {
  const { around } = place.level;
  if (!instead || instead.winner === around) {
    const inside = around ? ` inside ${named(around)}` : '';
    return {
      at: wordsOf(place),
      message: `location ${named(place)} never matches: there is no such URI${inside}`,
      ...(!around && { hint: 'a URI begins with "/"' }),
      ...(around && { related: [{ span: wordsOf(around), label: 'only these URIs come inside' }] }),
    };
  }
  const { uri, winner } = instead;
  return {
    at: wordsOf(place),
    message: `location ${named(place)} never matches: ${named(winner)} wins for "${shownUri(uri)}"`,
    label: 'never matches',
    related: [{ span: wordsOf(winner), label: `takes "${shownUri(uri)}"` }],
  };
}
