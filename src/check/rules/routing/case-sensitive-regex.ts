import { analysisOf } from '../../analysis.ts';
import { named, shownUri, wordsOf } from '../../locations/index.ts';
import type { Place, Reach } from '../../locations/index.ts';
import { extensionEnd } from '../../regex/index.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

export const caseSensitiveRegex: Rule = {
  id: 'GW210',
  slug: 'case-sensitive-regex',
  severity: 'info',
  off: true,
  summary: 'a regex for extensions that misses them in capitals',
  why: 'Cameras and older systems write extensions in capitals; such files are answered by another location.',
  fix: 'Write "~*" instead of "~".',
  bad: { text: 'location ~ \\.(?:jpg|png)$ { expires 1d; }' },
  good: { text: 'location ~* \\.(?:jpg|png)$ { expires 1d; }' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { place, reach } of analysisOf(config).locations.reached()) yield* problemsOf(place, reach);
  },
};

/** Programs call scripts by the name that they have. */
const SCRIPT = /\.(?:php|cgi|pl|py|asp|aspx|jsp)$/;

function* problemsOf(place: Place, reach: Reach): Iterable<Problem> {
  const { pattern, match, block } = place;
  if (!pattern || match.kind !== 'regex' || match.caseless || reach.kind !== 'some') return;
  if (!extensionEnd(pattern.ast)?.isAnchored || SCRIPT.test(reach.uri)) return;
  const upper = reach.uri.replace(/\.\w+$/, (extension) => extension.toUpperCase());
  if (upper === reach.uri || pattern.regex.test(upper)) return;
  const [modifier] = block.node!.args;
  yield {
    at: wordsOf(place),
    message: `location ${named(place)} matches "${shownUri(reach.uri)}", but not "${shownUri(upper)}"`,
    ...(modifier?.value === '~' && {
      fix: {
        title: 'ignore case: other URIs are answered here then',
        safe: false,
        edits: [{ span: modifier.span, text: '~*' }],
      },
    }),
  };
}
