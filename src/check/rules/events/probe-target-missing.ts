import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

export const probeTargetMissing: Rule = {
  id: 'GW816',
  slug: 'probe-target-missing',
  severity: 'error',
  summary: 'a probe of dictionaries where there is none',
  why: 'Every answer says that the dictionary cannot be reached: whoever watches the gateway takes it for broken.',
  fix: 'Declare the dictionary: shared_dict_zone zone=cache:1m, or leave the probe out.',
  bad: { text: 'location = /probe { control_api cache_probe; }' },
  good: {
    in: 'http',
    text: `shared_dict_zone zone=cache:1m;
server { listen 127.0.0.1:8080; location = /probe { control_api cache_probe; } }`,
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, block } of config.uses('control_api')) {
      if (!/^(?:cache|session)_probe$/.test(node.args[0]?.value ?? '')) continue;
      if (block.config('control')['dictionaries'] !== undefined) continue;
      yield {
        at: node,
        message: `there is no dictionary for "${node.args[0]?.value}"`,
        hint: 'declare one: shared_dict_zone zone=cache:1m',
      };
    }
  },
};
