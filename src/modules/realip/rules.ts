import { parseNetwork } from '../../config/index.ts';
import type { CheckedConfig, Problem, Rule } from '../../contract/index.ts';

/** Networks with masks up to this length count as all addresses: two halves cover everything. */
const MAX_BITS = 1;

const realipAny: Rule = {
  id: 'GW322',
  slug: 'realip-any',
  severity: 'error',
  summary: 'any client can replace its own address',
  why: 'Clients can forge the address that "allow", "deny", rate limits and logs use.',
  fix: 'List only the networks of your own proxies.',
  bad: {
    in: 'http',
    text: 'set_real_ip_from 0.0.0.0/0;\nserver {\n    listen 127.0.0.1:8080 engine=node;\n    return 204;\n}',
  },
  good: {
    in: 'http',
    text: 'set_real_ip_from 10.0.0.0/8;\nserver {\n    listen 127.0.0.1:8080 engine=node;\n    return 204;\n}',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node } of config.uses('set_real_ip_from')) {
      const network = parseNetwork(node.args[0]?.value ?? '')?.network;
      if (network && network.bits <= MAX_BITS)
        yield {
          at: node,
          message: `"set_real_ip_from ${node.args[0]?.value}" lets any client forge its address`,
        };
    }
  },
};

/** The rules about trusted proxies. */
export const rules: readonly Rule[] = [realipAny];
