import type { DirectiveNode } from '../../../../grammar/index.ts';
import { hostOf, isLocal, isName } from '../../addresses.ts';
import { literalPasses, upstreamNamed } from '../../proxying.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import { shown } from '../../shown.ts';

const HINT = 'name it in an "upstream" block as "server NAME resolve;", with "resolver"';

export const staticDns: Rule = {
  id: 'GW402',
  slug: 'static-dns',
  severity: 'warning',
  summary: 'the name of an upstream is looked up once',
  why: 'Its addresses are those of the start. When they change, requests go to the old ones until the next reload.',
  fix: 'In an "upstream" block say "server NAME resolve;" and name a "resolver"; nginx wants a "zone" in the block as well.',
  bad: { in: 'location', text: 'proxy_pass http://api.internal:8080;\nproxy_set_header Host $host;' },
  good: {
    in: 'http',
    text: 'resolver 10.0.0.2;\nupstream api {\n    server api.internal:8080 resolve;\n}\nserver {\n    listen 127.0.0.1:8080;\n    location / {\n        proxy_pass http://api;\n        proxy_set_header Host $host;\n    }\n}',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    const told = new Set<string>();
    for (const { node, host } of [...hostsPassedTo(config), ...hostsOfGroups(config)]) {
      if (!isName(host) || isLocal(host) || told.has(host)) continue;
      told.add(host);
      yield {
        at: node,
        message: `"${shown(node.args[0], host)}" is looked up once, at the start`,
        hint: HINT,
      };
    }
  },
};

interface Named {
  readonly node: DirectiveNode;
  readonly host: string;
}

function hostsPassedTo(config: CheckedConfig): readonly Named[] {
  return literalPasses(config).flatMap(({ node, target: { host } }) =>
    upstreamNamed(config, host) ? [] : [{ node, host }],
  );
}

function hostsOfGroups(config: CheckedConfig): readonly Named[] {
  return config.uses('server').flatMap(({ node, block }) => {
    const [address, ...parameters] = node.args;
    if (block.context !== 'upstream' || !address) return [];
    const isSpared = parameters.some(({ value }) => value === 'resolve' || value === 'down');
    return isSpared ? [] : [{ node, host: hostOf(address.value) }];
  });
}
