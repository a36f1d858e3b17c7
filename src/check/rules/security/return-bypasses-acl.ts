import type { DirectiveNode } from '../../../../grammar/index.ts';
import type { BlockView } from '../../../config/index.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

export const returnBypassesAcl: Rule = {
  id: 'GW308',
  slug: 'return-bypasses-acl',
  severity: 'error',
  summary: '"return" answers before anybody is asked for access',
  why: 'The rewrite phase comes before the access phase: "allow", "deny", "auth_basic" and "auth_request" of the same block are never reached.',
  fix: 'Answer in a location of its own that an inner "try_files" or "rewrite ... last" leads to, or serve a file.',
  bad: { in: 'location', text: 'allow 10.0.0.0/8;\ndeny all;\nreturn 200 "for us only";' },
  good: { in: 'location', text: 'allow 10.0.0.0/8;\ndeny all;\ntry_files /page.html =404;' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, block } of config.uses('return')) {
      const asks = asking(block);
      const [first] = asks;
      if (!first || isRefusal(node)) continue;
      yield {
        at: node,
        message: `"return" runs before "${first.name.value}": everybody gets the answer`,
        label: 'answers first',
        related: asks.map(({ span }) => ({ span, label: 'never asked' })),
      };
    }
  },
};

/** What keeps somebody out, in the block itself: what comes from outside may well be meant for other locations. */
function asking(block: BlockView): readonly DirectiveNode[] {
  return block
    .own('deny', 'auth_basic', 'auth_request')
    .filter(({ args }) => args[0] !== undefined && args[0].value !== 'off');
}

function isRefusal({ args }: DirectiveNode): boolean {
  return /^[45]\d\d$/.test(args[0]?.value ?? '');
}
