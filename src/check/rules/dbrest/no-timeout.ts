import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import { settingsOf } from './settings.ts';

const LONGEST_MS = 5 * 60_000;

export const dbrestNoTimeout: Rule = {
  id: 'GW613',
  slug: 'dbrest-no-timeout',
  severity: 'info',
  summary: 'a statement timeout so long that it is none',
  why: 'A request keeps its connection, and its locks, for as long: as many slow ones as the pool has connections, and nobody is served.',
  fix: 'Set dbrest_timeout to what a client waits for; give long jobs a location of their own.',
  bad: {
    text: 'location /api/ { dbrest_pass embedded; dbrest_schemas api; dbrest_anon_role anon; dbrest_timeout 1h; }',
  },
  good: {
    text: 'location /api/ { dbrest_pass embedded; dbrest_schemas api; dbrest_anon_role anon; dbrest_timeout 15s; }',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, block } of config.uses('dbrest_timeout')) {
      if (settingsOf(block).timeoutMs <= LONGEST_MS) continue;
      yield {
        at: node,
        message: `"dbrest_timeout ${node.args[0]?.value}" lets one request hold a connection for as long`,
      };
    }
  },
};
