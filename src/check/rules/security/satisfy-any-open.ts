import { accessIn, authIn, isAnyEnough } from '../../access-rules.ts';
import { blocksWith } from '../../blocks-with.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

/** Where one of them stands it comes together. */
const PARTS = ['satisfy', 'allow', 'deny', 'auth_basic', 'auth_request'] as const;

export const satisfyAnyOpen: Rule = {
  id: 'GW310',
  slug: 'satisfy-any-open',
  severity: 'warning',
  summary: '"satisfy any" beside "allow all": nobody is asked for a password',
  why: 'One check that lets in is enough, and "allow all" lets everybody in.',
  fix: 'Name the networks that need no password and end the list with "deny all".',
  bad: {
    in: 'location',
    text: 'satisfy any;\nallow all;\nauth_basic "staff";\nauth_basic_user_file staff;',
  },
  good: {
    in: 'location',
    text: 'satisfy any;\nallow 10.0.0.0/8;\ndeny all;\nauth_basic "staff";\nauth_basic_user_file staff;',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const block of blocksWith(config, ...PARTS)) {
      const everybody = accessIn(block).find(({ who }) => who === 'all');
      const [auth] = authIn(block);
      if (!isAnyEnough(block) || !everybody?.allows || !auth) continue;
      yield {
        at: everybody.node,
        message: `"allow all" with "satisfy any" disables "${auth.name.value}"`,
        related: [{ span: auth.span, label: 'never asked' }],
      };
    }
  },
};
