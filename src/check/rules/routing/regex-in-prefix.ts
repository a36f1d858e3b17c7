import type { LocationMatch } from '../../../contract/index.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

/** What stands in patterns and not in the paths of requests. */
const LIKE_A_PATTERN = /\\[.dwsSDW/-]|\.[*+](?![a-z])|\([^()]*\|[^()]*\)|\[[^\]]*\][*+]|^\^|\$$|\(\?[:=!<P]/;

export const regexInPrefix: Rule = {
  id: 'GW205',
  slug: 'regex-in-prefix',
  severity: 'warning',
  summary: 'a pattern in a location that compares its text as it is',
  why: 'Without "~" the dots, stars and brackets stand for themselves, so the location answers next to nothing.',
  fix: 'Put "~" (or "~*", which takes any case) before the pattern.',
  bad: { text: String.raw`location /files/.*\.php { return 404; }` },
  good: { text: String.raw`location ~ ^/files/.*\.php$ { return 404; }` },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { args, node } of config.blocks('location')) {
      const match = args as LocationMatch | undefined;
      const word = node?.args.at(-1);
      if (!word || (match?.kind !== 'prefix' && match?.kind !== 'exact')) continue;
      if (!LIKE_A_PATTERN.test(match.path)) continue;
      const isBare = match.kind === 'prefix' && !match.stop;
      const { span } = word;
      yield {
        at: span,
        message: `"${match.path}" is ${isBare ? 'a literal prefix' : 'compared as it is'}; did you mean "~"?`,
        fix: isBare
          ? {
              title: 'make it a pattern',
              safe: false,
              edits: [{ span: { ...span, end: span.start }, text: '~ ' }],
            }
          : undefined,
      };
    }
  },
};
