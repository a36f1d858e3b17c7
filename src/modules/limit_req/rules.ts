import type { ModuleRule, Problem } from '../../contract/index.ts';
import type { LimitReqConfig } from './directives.ts';

const syncAlone: ModuleRule<LimitReqConfig> = {
  id: 'GW957',
  slug: 'sync-alone',
  severity: 'warning',
  summary: '"sync" of limit_req_zone without a cluster',
  why: 'Each gateway counts for itself: behind a balancer with three of them a client gets three times the rate.',
  fix: 'Declare the store that the gateways share: cluster main { backend redis://…; secret …; }. Or remove "sync".',
  bad: { in: 'http', text: 'limit_req_zone $binary_remote_addr zone=perip:10m rate=10r/s sync;' },
  good: {
    in: 'http',
    text: `cluster main { backend redis://127.0.0.1:6379; secret \${file:cluster.key}; }
limit_req_zone $binary_remote_addr zone=perip:10m rate=10r/s sync;`,
    files: { 'cluster.key': 'tR7uWx2LqPz9Vb4N' },
  },
  *check(config): Iterable<Problem> {
    if (config.blocks('cluster').length > 0) return;
    for (const { node } of config.uses('limit_req_zone')) {
      const word = node.args.slice(1).find(({ value }) => /^sync(?:=exact)?$/.test(value));
      if (!word) continue;
      yield {
        at: word.span,
        message: `"${word.value}" has no effect: there is no cluster`,
        hint: 'declare one: cluster main { backend redis://host:6379; secret ...; }',
      };
    }
  },
};

/** The rules about the limit_req module. */
export const rules: readonly ModuleRule<LimitReqConfig>[] = [syncAlone];
