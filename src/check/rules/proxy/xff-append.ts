import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

/** Headers in which upstreams look for the client's address, and values that are the client's own word for it. */
const ADDRESS = /^(?:x-forwarded-for|x-real-ip|x-client-ip|true-client-ip|forwarded)$/i;
const CLIENT_SAYS = /^\$\{?http_(?:x_forwarded_for|x_real_ip|x_client_ip|true_client_ip|forwarded)\}?$/i;

export const xffAppend: Rule = {
  id: 'GW414',
  slug: 'xff-append',
  severity: 'info',
  summary: 'the upstream gets the address that the client claims to have',
  why: 'The header goes on as it came, without the address of the connection: upstreams log and trust what anybody wrote.',
  fix: 'Send "$remote_addr", or "$proxy_add_x_forwarded_for", which ends in it.',
  bad: {
    in: 'location',
    text: 'proxy_pass http://127.0.0.1:9000;\nproxy_set_header X-Forwarded-For $http_x_forwarded_for;',
  },
  good: {
    in: 'location',
    text: 'proxy_pass http://127.0.0.1:9000;\nproxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node } of config.uses('proxy_set_header')) {
      const [name, value] = node.args;
      if (!name || !value || !ADDRESS.test(name.value) || !CLIENT_SAYS.test(value.value)) continue;
      yield {
        at: node,
        message: `"${name.value} ${value.value}" is what the client says of its own address`,
      };
    }
  },
};
