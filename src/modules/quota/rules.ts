import type { ModuleRule, Problem } from '../../contract/index.ts';
import type { QuotaConfig } from './directives.ts';
import type { Window } from './window.ts';

/** Windows that outlast most runs of a gateway. */
const LONG: ReadonlySet<Window> = new Set<Window>(['day', 'week', 'month']);

const zone = (more: string): string => `quota_zone $remote_addr zone=monthly:1m limit=100000/month${more};
server { listen 127.0.0.1:8080; location / { quota zone=monthly; proxy_pass http://127.0.0.1:9000; } }`;

const forgottenQuota: ModuleRule<QuotaConfig> = {
  id: 'GW986',
  slug: 'forgotten-quota',
  severity: 'info',
  summary: 'a quota for days or longer that a restart forgets',
  why: 'Its counts are in memory alone: after a restart, every key has its whole quota again.',
  fix: 'Add "state=FILE", or "cluster=NAME" where a store keeps the counts.',
  bad: { in: 'http', text: zone('') },
  good: { in: 'http', text: zone(' state=state/monthly.json') },
  *check(config): Iterable<Problem> {
    for (const block of config.blocksWith('quota_zone')) {
      const nodes = config.nodesIn(block, 'zones');
      for (const [index, { name, window, state, sharing }] of (
        config.configIn(block).zones ?? []
      ).entries()) {
        const at = nodes[index];
        if (!at || !LONG.has(window) || state !== undefined || sharing) continue;
        yield {
          at,
          message: `a restart forgets what the quota "${name}" has counted in the ${window}`,
          hint: `add state=state/${name}.json`,
        };
      }
    }
  },
};

/** The rules about quotas. */
export const rules: readonly ModuleRule<QuotaConfig>[] = [forgottenQuota];
