import type { Rule } from '../../rule.ts';

export const flagUndefined: Rule = {
  id: 'GW814',
  slug: 'flag-undefined',
  severity: 'error',
  summary: 'the variable of a feature flag that was not declared',
  why: 'The configuration does not load.',
  fix: 'Declare it in the http block: feature_flag $flag_new_shop new_shop.',
  bad: { text: 'location / { return 200 $flag_new_shop; }' },
  good: {
    in: 'http',
    text: `shared_dict_zone zone=feature_flags:1m;
feature_flag $flag_new_shop new_shop;
server { listen 127.0.0.1:8080; location / { return 200 $flag_new_shop; } }`,
  },
};
