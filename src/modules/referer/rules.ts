import type { CheckedConfig, Problem, Rule } from '../../contract/index.ts';

const validReferersNone: Rule = {
  id: 'GW312',
  slug: 'valid-referers-none',
  severity: 'warning',
  summary: '"valid_referers" accepts requests without information about their origin',
  why: 'A page that embeds a file can suppress Referer (Referrer-Policy: no-referrer), so "none" and "blocked" accept any site.',
  fix: 'Remove "none" and "blocked", or protect important files with "secure_link".',
  bad: { in: 'location', text: 'valid_referers none shop.example;\nif ($invalid_referer) { return 403; }' },
  good: { in: 'location', text: 'valid_referers shop.example;\nif ($invalid_referer) { return 403; }' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node } of config.uses('valid_referers')) {
      const open = node.args.filter(({ value }) => value === 'none' || value === 'blocked');
      const [first] = open;
      if (!first) continue;
      const words = open.map(({ value }) => `"${value}"`).join(' and ');
      yield {
        at: first.span,
        message: `${words} in "valid_referers" ${open.length > 1 ? 'accept' : 'accepts'} requests without a usable Referer`,
      };
    }
  },
};

/** The rules about referers. */
export const rules: readonly Rule[] = [validReferersNone];
