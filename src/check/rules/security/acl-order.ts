import { accessIn, covers } from '../../access-rules.ts';
import type { AccessEntry } from '../../access-rules.ts';
import { lineBefore, removed } from '../../edits.ts';
import { blocksWith } from '../../blocks-with.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

export const aclOrder: Rule = {
  id: 'GW309',
  slug: 'acl-order',
  severity: 'warning',
  summary: 'an "allow" or "deny" behind one that decides the same addresses already',
  why: 'The first rule that fits decides. A narrower one behind a wider one is never tried.',
  fix: 'Put the narrower rule first.',
  bad: { in: 'location', text: 'allow all;\ndeny 192.0.2.7;' },
  good: { in: 'location', text: 'deny 192.0.2.7;\nallow all;' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const block of blocksWith(config, 'allow', 'deny')) {
      const rules = accessIn(block);
      for (const [index, rule] of rules.entries()) {
        const first = rules.slice(0, index).find((other) => covers(other.who, rule.who));
        // Saying the same twice changes nothing.
        if (first && first.allows !== rule.allows) yield problemOf(rule, first);
      }
    }
  },
};

function problemOf({ node }: AccessEntry, first: AccessEntry): Problem {
  const [later, earlier] = [node, first.node].map(textOf) as [string, string];
  return {
    at: node,
    message: `"${later}" after "${earlier}" never applies`,
    related: [{ span: first.node.span, label: 'decides first' }],
    fix: {
      title: `put "${later}" before "${earlier}"`,
      safe: false,
      edits: [lineBefore(first.node, `${later};`), removed(node)],
    },
  };
}

function textOf({ name, args }: AccessEntry['node']): string {
  return [name, ...args].map(({ value }) => value).join(' ');
}
