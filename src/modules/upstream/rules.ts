import type { CheckedConfig, Problem, Rule } from '../../contract/index.ts';

const ipHash24: Rule = {
  id: 'GW908',
  slug: 'ip-hash-24',
  severity: 'info',
  summary: 'ip_hash, which treats 256 neighbouring addresses as one client',
  why: 'It uses the first three octets of an IPv4 address: all clients of an office or a proxy use one server.',
  fix: 'Hash the whole address: hash $remote_addr consistent.',
  bad: {
    in: 'http',
    text: 'upstream app { ip_hash; server 127.0.0.1:8001; server 127.0.0.1:8002; }',
  },
  good: {
    in: 'http',
    text: 'upstream app { hash $remote_addr consistent; server 127.0.0.1:8001; server 127.0.0.1:8002; }',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node } of config.uses('ip_hash')) {
      yield {
        at: node,
        message: '"ip_hash" sends all clients of a /24 network to one server',
        hint: 'hash $remote_addr consistent',
      };
    }
  },
};

/** The rules about `upstream` blocks. */
export const rules: readonly Rule[] = [ipHash24];
