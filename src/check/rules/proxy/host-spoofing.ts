import { rewritten } from '../../edits.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

export const hostSpoofing: Rule = {
  id: 'GW405',
  slug: 'host-spoofing',
  severity: 'warning',
  summary: 'the upstream gets the Host header as the client wrote it',
  why: 'A request line with another host decides which server answers, while the upstream builds links, mails and cached pages with the header: that is how caches and password resets are poisoned.',
  fix: 'Send "$host", with ":$server_port" where the upstream needs the port.',
  bad: {
    in: 'location',
    text: 'proxy_pass http://127.0.0.1:9000;\nproxy_set_header Host $http_host;',
  },
  good: { in: 'location', text: 'proxy_pass http://127.0.0.1:9000;\nproxy_set_header Host $host;' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node } of config.uses('proxy_set_header')) {
      const [name, value] = node.args;
      if (name?.value.toLowerCase() !== 'host' || !value) continue;
      if (!/^\$(?:http_host|\{http_host\})$/i.test(value.value)) continue;
      yield {
        at: node,
        message: `"Host ${value.value}" passes on what the client wrote`,
        fix: {
          title: 'send "$host": in lower case, without a port',
          safe: false,
          edits: [rewritten(value, '$host')],
        },
      };
    }
  },
};
