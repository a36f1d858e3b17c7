import { reworded } from '../../../grammar/index.ts';
import type { CheckedConfig, Problem, Rule } from '../../contract/index.ts';

const versionDisclosure: Rule = {
  id: 'GW311',
  slug: 'version-disclosure',
  severity: 'warning',
  summary: '"server_tokens" shows the version to all clients',
  why: 'The version tells attackers which vulnerabilities to try.',
  fix: 'Set "server_tokens off".',
  bad: { text: 'server_tokens on;' },
  good: { text: 'server_tokens off;' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node } of config.uses('server_tokens')) {
      const [word] = node.args;
      if (word?.value !== 'on' && word?.value !== 'build') continue;
      yield {
        at: node,
        message: `"server_tokens ${word.value}" shows the version to all clients`,
        fix: { title: 'write "off"', safe: true, edits: [reworded(word, 'off')] },
      };
    }
  },
};

const errorLogOff: Rule = {
  id: 'GW902',
  slug: 'error-log-off',
  severity: 'warning',
  summary: '"error_log off", where "off" is the name of a file',
  why: 'Unlike "access_log", "error_log" cannot be turned off: errors are written to a file named "off".',
  fix: 'To log almost nothing, write "error_log /dev/null emerg;".',
  bad: { text: 'error_log off;' },
  good: { text: 'error_log /dev/null emerg;' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node } of config.uses('error_log')) {
      if (node.args[0]?.value !== 'off') continue;
      yield {
        at: node,
        message: '"error_log off" writes to a file named "off"',
        hint: '"error_log /dev/null emerg" logs almost nothing',
      };
    }
  },
};

const FEW_REQUESTS = 100;

const keepaliveRequestsLow: Rule = {
  id: 'GW903',
  slug: 'keepalive-requests-low',
  severity: 'info',
  summary: 'connections that are closed after a few requests',
  why: 'Each new connection needs a handshake. With TLS, that is several times the work of a request.',
  fix: 'Remove "keepalive_requests": the default is a thousand.',
  bad: { text: 'keepalive_requests 10;' },
  good: { text: 'keepalive_requests 1000;' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node } of config.uses('keepalive_requests')) {
      const requests = Number(node.args[0]?.value);
      // 0 turns keep-alive connections off.
      if (!(requests > 0 && requests < FEW_REQUESTS)) continue;
      yield {
        at: node,
        message: `connections are closed after ${requests} request${requests === 1 ? '' : 's'}`,
      };
    }
  },
};

const workerProcessesUnset: Rule = {
  id: 'GW909',
  slug: 'worker-processes-unset',
  severity: 'info',
  off: true,
  summary: 'only one worker, because "worker_processes" is not set',
  why: 'The default is one worker on any machine, so the other cores stay idle.',
  fix: 'Set "worker_processes auto".',
  bad: { in: 'main', text: 'http { server { listen 127.0.0.1:8080; } }' },
  good: { in: 'main', text: 'worker_processes auto; http { server { listen 127.0.0.1:8080; } }' },
  *check(config: CheckedConfig): Iterable<Problem> {
    const [http] = config.blocks('http');
    if (!http?.node || config.uses('worker_processes').length > 0) return;
    yield {
      at: http.node.name.span,
      message: '"worker_processes" is not set: one worker serves everything',
      hint: 'add "worker_processes auto"',
    };
  },
};

const servesAsRoot: Rule = {
  id: 'GW911',
  slug: 'serves-as-root',
  severity: 'warning',
  summary: 'requests are served with the rights of root',
  why: 'A mistake while serving a request then has the rights of root: a path that leads too far can read any file of the machine.',
  fix: 'Name a dedicated account. Ports, keys and logs that only root can open are opened before gw changes to it.',
  bad: { in: 'main', text: 'user root;' },
  good: { in: 'main', text: 'user nobody;' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node } of config.uses('user')) {
      if (node.args[0]?.value !== 'root') continue;
      yield { at: node, message: '"user root" serves requests with the rights of root' };
    }
  },
};

const syslogHost: Rule = {
  id: 'GW913',
  slug: 'syslog-host',
  severity: 'warning',
  live: true,
  summary: 'a syslog server whose name has no address',
  why: 'The gateway starts and looks up the name again later, but log lines until then are lost. nginx refuses such a configuration.',
  fix: 'Correct the name, or write the address.',
  bad: { text: 'error_log syslog:server=logs.invalid;' },
  good: { text: 'error_log syslog:server=127.0.0.1;' },
};

/** The rules about directives of the core module. */
export const rules: readonly Rule[] = [
  versionDisclosure,
  errorLogOff,
  keepaliveRequestsLow,
  workerProcessesUnset,
  servesAsRoot,
  syslogHost,
];
