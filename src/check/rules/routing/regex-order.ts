import { analysisOf } from '../../analysis.ts';
import { named, shownUri, wordsOf } from '../../locations/index.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

export const regexOrder: Rule = {
  id: 'GW203',
  slug: 'regex-order',
  severity: 'info',
  summary: 'a regex location behind a broader one that takes all of its ordinary requests',
  why: 'Regex locations are tried in the order of the file, and the first match wins. Only URIs with control characters, empty segments or the like get past the broader one.',
  fix: 'Put the narrower regex in front of the broader one.',
  bad: {
    text: 'location ~ ^/docs/.*$ { return 200 docs; }\nlocation ~ ^/docs/[^/]*\\.pdf$ { return 200 pdf; }',
  },
  good: {
    text: 'location ~ ^/docs/[^/]*\\.pdf$ { return 200 pdf; }\nlocation ~ ^/docs/.*$ { return 200 docs; }',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { place, reach } of analysisOf(config).locations.reached()) {
      if (reach.kind !== 'odd' || place.match.kind !== 'regex' || !reach.instead) continue;
      const { uri, winner } = reach.instead;
      yield {
        at: wordsOf(place),
        message: `location ${named(place)} gets only odd URIs such as "${shownUri(reach.uri)}": ${named(winner)} wins for "${shownUri(uri)}"`,
        related: [{ span: wordsOf(winner), label: `takes "${shownUri(uri)}"` }],
      };
    }
  },
};
