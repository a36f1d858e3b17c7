import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

export const flagUnused: Rule = {
  id: 'GW815',
  slug: 'flag-unused',
  severity: 'info',
  summary: 'the variable of a feature flag that nothing reads',
  why: 'Operators switch a flag that changes nothing; mostly a name is misspelt somewhere.',
  fix: 'Use the variable, or take the directive out.',
  bad: {
    in: 'http',
    text: `shared_dict_zone zone=feature_flags:1m;
feature_flag $new_shop new_shop;
server { listen 127.0.0.1:8080; location / { return 204; } }`,
  },
  good: {
    in: 'http',
    text: `shared_dict_zone zone=feature_flags:1m;
feature_flag $new_shop new_shop;
server { listen 127.0.0.1:8080; location / { return 200 $new_shop; } }`,
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    const used = new Set(config.bound.uses.map(({ name }) => name));
    for (const { node } of config.uses('feature_flag')) {
      const variable = node.args[0]?.value ?? '';
      if (!/^\$\w+$/.test(variable) || used.has(variable.slice(1).toLowerCase())) continue;
      yield { at: node, message: `"${variable}" is not used anywhere` };
    }
  },
};
