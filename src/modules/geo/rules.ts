import { shown } from '../../../grammar/index.ts';
import type { CheckedConfig, Problem, Rule } from '../../contract/index.ts';

/** Lines whose words are not values. */
const SETTINGS = new Set(['include', 'delete', 'proxy', 'proxy_recursive', 'ranges', 'volatile']);

const geoLiteral: Rule = {
  id: 'GW222',
  slug: 'geo-literal',
  severity: 'warning',
  summary: 'a variable as a value of "geo", which is taken as it is written',
  why: 'The values of "geo" are texts: all clients get the same "$...", so that a limit by it has one counter for all of them.',
  fix: 'Let "geo" give a name or a number, and a "map" of it the variable.',
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
          message: `"${shown(value, variable)}" in "geo" is a text, the same for all clients`,
          hint: 'give it in a "map" of the variable that "geo" sets',
        };
      }
    }
  },
};

/** The rules about `geo`. */
export const rules: readonly Rule[] = [geoLiteral];
