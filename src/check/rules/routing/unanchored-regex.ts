import { analysisOf } from '../../analysis.ts';
import { named, refuses, shownUri, wordsOf } from '../../locations/index.ts';
import type { Place, Reach } from '../../locations/index.ts';
import { extensionEnd } from '../../regex/index.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

export const unanchoredRegex: Rule = {
  id: 'GW208',
  slug: 'unanchored-regex',
  severity: 'warning',
  summary: 'a regex for an extension that does not say where the name ends',
  why: 'Without "$" the extension may stand anywhere in the URI: a file with a longer name, or one below a folder of that name, is handled as if it had the extension.',
  fix: 'End the pattern with "$".',
  bad: { text: 'location ~ \\.php { return 200 script; }' },
  good: { text: 'location ~ \\.php$ { return 200 script; }' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { place, reach } of analysisOf(config).locations.reached()) yield* problemsOf(place, reach);
  },
};

function* problemsOf(place: Place, reach: Reach): Iterable<Problem> {
  const { pattern, block } = place;
  if (!pattern || reach.kind !== 'some' || refuses(block) || isOneName(pattern.ast.raw)) return;
  if (extensionEnd(pattern.ast)?.isAnchored !== false) return;
  const other = `${reach.uri}x/b`;
  if (!pattern.regex.test(other)) return;
  const at = wordsOf(place);
  const end = { ...at, start: at.end - block.node!.args.at(-1)!.quote.length };
  yield {
    at,
    message: `location ${named(place)} matches "${shownUri(reach.uri)}", and "${shownUri(other)}" as well`,
    ...(pattern.ast.alternatives.length === 1 && {
      fix: {
        title: 'end the pattern with "$": other URIs are answered elsewhere then',
        safe: false,
        edits: [{ span: { ...end, end: end.start }, text: '$' }],
      },
    }),
  };
}

/** `^/index\.php`: a whole path, which no other file's name is likely to begin with. */
function isOneName(source: string): boolean {
  return source.startsWith('^') && !/[*+]/.test(source);
}
