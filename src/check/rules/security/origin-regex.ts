import { analysisOf } from '../../analysis.ts';
import type { Analysis } from '../../analysis.ts';
import { isRefusal } from '../../locations/index.ts';
import { acceptedStranger } from '../../regex/index.ts';
import type { RegexUse } from '../../regex/index.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

export const originRegex: Rule = {
  id: 'GW313',
  slug: 'origin-regex',
  severity: 'error',
  summary: "a pattern for trusted sites that strangers' sites match as well",
  why: "Without anchors, or with a dot that is not escaped, the pattern accepts hosts that anybody can register. Their pages may then read answers with the user's cookies, or pass for yours.",
  fix: 'Write the whole origin: "^https://(?:[a-z0-9-]+\\.)*example\\.com$".',
  bad: {
    in: 'http',
    text: 'map $http_origin $cors {\n  default "";\n  ~^https://example\\.com $http_origin;\n}',
  },
  good: {
    in: 'http',
    text: 'map $http_origin $cors {\n  default "";\n  ~^https://example\\.com$ $http_origin;\n}',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    const analysis = analysisOf(config);
    for (const use of analysis.regexes) {
      const accepted = isAllowList(use) ? strangerOf(use, analysis) : undefined;
      if (accepted === undefined) continue;
      yield { at: use.at, message: `pattern "${use.pattern.text}" accepts "${accepted}"` };
    }
  },
};

/** Whether what matches is let in: lists of bad sites are written in the same way. */
function isAllowList({ kind, subject, negated, block, line }: RegexUse): boolean {
  if (subject === undefined || !/^(?:http_(?:origin|referer|host)|host)$/.test(subject)) return false;
  const isOrigin = subject === 'http_origin';
  if (kind === 'map') return isOrigin && !/^(?:0|off|no|deny)?$/.test(line?.args[0]?.value ?? '');
  if (kind !== 'if') return false;
  const refuses = block.own('return').some(isRefusal);
  return negated === true ? refuses : isOrigin && !refuses;
}

function strangerOf({ pattern, subject }: RegexUse, { patterns, locations }: Analysis): string | undefined {
  const kind = subject === 'http_origin' ? 'origin' : subject === 'http_referer' ? 'referer' : 'host';
  return acceptedStranger(pattern, kind, { patterns, budget: locations.budget });
}
