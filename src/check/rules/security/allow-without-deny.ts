import { authIn, isAnyEnough, ownAccess } from '../../access-rules.ts';
import { lineBehind } from '../../edits.ts';
import { blocksWith } from '../../blocks-with.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

export const allowWithoutDeny: Rule = {
  id: 'GW307',
  slug: 'allow-without-deny',
  severity: 'error',
  summary: '"allow" without any "deny" keeps nobody out',
  why: 'Whom no rule fits is let in. A list of "allow" alone therefore admits everybody.',
  fix: 'End the list with "deny all".',
  bad: { in: 'location', text: 'allow 10.0.0.0/8;' },
  good: { in: 'location', text: 'allow 10.0.0.0/8;\ndeny all;' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const block of blocksWith(config, 'allow')) {
      const rules = ownAccess(block);
      const [first] = rules;
      const last = rules.at(-1);
      if (!first || !last) continue;
      // "allow all" lifts a list of the level above, and says so.
      if (rules.some(({ allows, who }) => !allows || who === 'all')) continue;
      // Whom no rule fits still has to pass the other checks.
      if (isAnyEnough(block) && authIn(block).length > 0) continue;
      yield {
        at: first.node,
        message: `"allow ${first.node.args[0]?.value}" without "deny all" keeps nobody out`,
        fix: {
          title: 'add "deny all": everybody else gets 403 then',
          safe: false,
          edits: [lineBehind(last.node, 'deny all;')],
        },
      };
    }
  },
};
