import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

const FEW = 100;

export const keepaliveRequestsLow: Rule = {
  id: 'GW903',
  slug: 'keepalive-requests-low',
  severity: 'info',
  summary: 'connections that end after a few requests',
  why: 'Each new connection costs a handshake, and with TLS several times the work of a request.',
  fix: 'Leave keepalive_requests out: a thousand is the default.',
  bad: { text: 'keepalive_requests 10;' },
  good: { text: 'keepalive_requests 1000;' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node } of config.uses('keepalive_requests')) {
      const requests = Number(node.args[0]?.value);
      // 0 is another wish: to have no such connections.
      if (!(requests > 0 && requests < FEW)) continue;
      yield { at: node, message: `connections end after ${requests} request${requests === 1 ? '' : 's'}` };
    }
  },
};
