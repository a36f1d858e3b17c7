import type { Rule } from '../../rule.ts';

export const unsupportedModule: Rule = {
  id: 'GW118',
  slug: 'unsupported-module',
  severity: 'error',
  summary: 'a directive of an nginx module that is not available here',
  why: 'Requests that depend on it would be answered otherwise, so the configuration does not load.',
  fix: 'The hint names what to use instead, where there is something.',
  bad: { in: 'http', text: 'perl_modules perl/lib;' },
  good: { in: 'http', text: 'map $uri $is_old { default 0; /old 1; }' },
};
