import type { LocationMatch } from '../../../contract/index.ts';
import { lengthened } from '../../edits.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import { servedDatabases } from './settings.ts';

export const dbrestPrefixSlash: Rule = {
  id: 'GW615',
  slug: 'dbrest-prefix-slash',
  severity: 'warning',
  summary: 'a location for a database that also takes its neighbours',
  why: 'The prefix "/rest" also matches "/restore": requests for another part of the site go to the database.',
  fix: 'End the location with a slash.',
  bad: { text: 'location /rest { dbrest_pass embedded; dbrest_schemas api; dbrest_anon_role anon; }' },
  good: { text: 'location /rest/ { dbrest_pass embedded; dbrest_schemas api; dbrest_anon_role anon; }' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { block } of servedDatabases(config)) {
      const match = block.args as LocationMatch | undefined;
      const prefix = block.node?.args.at(-1);
      if (match?.kind !== 'prefix' || match.path.endsWith('/') || !prefix) continue;
      yield {
        at: prefix.span,
        message: `location "${match.path}" also takes "${match.path}ore" to the database`,
        fix: {
          title: `end the location with "/": "${match.path}" itself is answered otherwise then`,
          safe: false,
          edits: [lengthened(prefix, '/')],
        },
      };
    }
  },
};
