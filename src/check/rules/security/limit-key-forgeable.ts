import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

/** What clients can write as they like, and what people take for an address. */
const FORGEABLE =
  /\$\{?(http_(?:x_forwarded_for|x_real_ip|x_client_ip|x_cluster_client_ip|forwarded|client_ip|true_client_ip|cf_connecting_ip|user_agent)|proxy_add_x_forwarded_for)\b/i;

export const limitKeyForgeable: Rule = {
  id: 'GW323',
  slug: 'limit-key-forgeable',
  severity: 'warning',
  summary: 'a limit counts by a header that clients choose',
  why: 'Another value with each request is another key: the limit never applies to those whom it is meant for.',
  fix: 'Count by "$binary_remote_addr"; behind a proxy let "set_real_ip_from" and "real_ip_header" find the address.',
  bad: { in: 'http', text: 'limit_req_zone $http_x_forwarded_for zone=calls:1m rate=10r/s;' },
  good: { in: 'http', text: 'limit_req_zone $binary_remote_addr zone=calls:1m rate=10r/s;' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node } of config.uses('limit_req_zone', 'limit_conn_zone')) {
      const [key] = node.args;
      const variable = FORGEABLE.exec(key?.value ?? '')?.[1];
      if (!key || variable === undefined) continue;
      yield {
        at: key.span,
        message: `"$${variable}" in the key of "${node.name.value}" is what the client says`,
        hint: 'count by "$binary_remote_addr"',
      };
    }
  },
};
