import type { Rule } from '../../rule.ts';

export const ignoredDirective: Rule = {
  id: 'GW117',
  slug: 'ignored-directive',
  severity: 'info',
  summary: 'a directive of nginx that has no effect here',
  why: 'It is accepted so that an nginx.conf loads as it is. Who relies on what it does in nginx should know.',
  fix: 'Leave it for nginx, or delete it.',
  bad: { text: 'sendfile on;' },
  good: { text: 'autoindex off;' },
};
