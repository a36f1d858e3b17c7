import type { Problem, Rule } from '../../../contract/index.ts';

/** Matches `sync`, which shares with the only cluster. */
const SYNC = /^sync(?:=exact)?$/;

const syncAlone: Rule = {
  id: 'GW957',
  slug: 'sync-alone',
  severity: 'warning',
  summary: '"sync" of limit_req_zone or "sticky learn" without a cluster',
  why: 'Each gateway counts requests and learns sessions for itself. With three gateways behind a balancer, a client gets three times the rate, and only one gateway knows its session.',
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
    for (const { node } of config.uses('limit_req_zone', 'sticky')) {
      const word = node.args.slice(1).find(({ value }) => SYNC.test(value));
      // Only "learn" shares anything; to others the word means something else.
      if (!word || (node.name.value === 'sticky' && node.args[0]?.value !== 'learn')) continue;
      yield {
        at: word.span,
        message: `"${word.value}" has no effect: there is no cluster`,
        hint: 'declare one: cluster main { backend redis://host:6379; secret ...; }',
      };
    }
  },
};

/** The rules about the state that gateways of a cluster share. */
export const CLUSTER_RULES: readonly Rule[] = [syncAlone];
