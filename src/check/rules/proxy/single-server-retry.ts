import { hostOf, isName } from '../../addresses.ts';
import { targetOf, upstreamNamed } from '../../proxying.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

export const singleServerRetry: Rule = {
  id: 'GW415',
  slug: 'single-server-retry',
  severity: 'info',
  summary: '"proxy_next_upstream" where there is no next one',
  why: 'The upstream has one address: a request that fails there fails.',
  fix: 'Add a server to the "upstream" block, or take the directive out.',
  bad: {
    in: 'location',
    text: 'proxy_pass http://127.0.0.1:9000;\nproxy_next_upstream error timeout;',
  },
  good: {
    in: 'http',
    text: 'upstream app {\n    server 127.0.0.1:9000;\n    server 127.0.0.1:9001;\n}\nserver {\n    listen 127.0.0.1:8080;\n    location / {\n        proxy_pass http://app;\n        proxy_set_header Host $host;\n        proxy_next_upstream error timeout;\n    }\n}',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, block } of config.uses('proxy_next_upstream')) {
      const target = targetOf(block);
      if (target?.kind !== 'literal' || node.args.some(({ value }) => value === 'off')) continue;
      const servers = upstreamNamed(config, target.host)?.own('server');
      const hosts = servers?.map(({ args }) => hostOf(args[0]?.value ?? '')) ?? [target.host];
      const [only] = hosts;
      // A name may have several addresses.
      if (hosts.length === 1 && only !== undefined && !isName(only))
        yield { at: node, message: '"proxy_next_upstream" has no effect: the upstream is one server' };
    }
  },
};
