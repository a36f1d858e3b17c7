import { shown } from '../../../grammar/index.ts';
import type { CheckedConfig, Problem, Rule } from '../../contract/index.ts';

/** Lines whose words are not values. */
const SETTINGS = new Set(['include', 'delete', 'proxy', 'proxy_recursive', 'ranges', 'volatile']);

const geoLiteral: Rule = {
  id: 'GW222',
  slug: 'geo-literal',
  severity: 'warning',
  summary: 'a variable as a value of "geo", which does not evaluate it',
  why: 'The values of "geo" are plain texts: all clients get the same "$...", so a limit with this key has one counter for all of them.',
  fix: 'Use names or numbers as values of "geo", and map them to variables with "map".',
  bad: {
    in: 'http',
    text: 'geo $key { default $binary_remote_addr; 10.0.0.0/8 ""; }\nlimit_req_zone $key zone=perip:1m rate=10r/s;',
  },
  good: {
    in: 'http',
    text: 'geo $limited { default 1; 10.0.0.0/8 0; }\nmap $limited $key { 0 ""; default $binary_remote_addr; }\nlimit_req_zone $key zone=perip:1m rate=10r/s;',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node } of config.uses('geo')) {
      for (const { name, args } of node.block ?? []) {
        const [value] = args;
        const variable = /\$\{?[a-z_]\w*\}?/i.exec(value?.value ?? '')?.[0];
        if (!value || variable === undefined || SETTINGS.has(name.value)) continue;
        yield {
          at: value.span,
          message: `"${shown(value, variable)}" in "geo" is plain text, the same for all clients`,
          hint: 'use it in a "map" of the variable that "geo" sets',
        };
      }
    }
  },
};

/** The rules about `geo`. */
export const rules: readonly Rule[] = [geoLiteral];
