import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

export const workerProcessesUnset: Rule = {
  id: 'GW909',
  slug: 'worker-processes-unset',
  severity: 'info',
  off: true,
  summary: 'one worker, because nobody said how many',
  why: 'The default is one, whatever the machine has: the other cores idle.',
  fix: 'Set worker_processes auto.',
  bad: { in: 'main', text: 'http { server { listen 127.0.0.1:8080; } }' },
  good: { in: 'main', text: 'worker_processes auto; http { server { listen 127.0.0.1:8080; } }' },
  *check(config: CheckedConfig): Iterable<Problem> {
    const [http] = config.blocks('http');
    if (!http?.node || config.uses('worker_processes').length > 0) return;
    yield {
      at: http.node.name.span,
      message: '"worker_processes" is not set: one worker serves everything',
      hint: 'add worker_processes auto',
    };
  },
};
