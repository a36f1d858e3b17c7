import { lineBehind } from '../../edits.ts';
import { headersSent, literalPasses, upstreamNamed } from '../../proxying.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import { shown } from '../../shown.ts';

export const missingHostHeader: Rule = {
  id: 'GW406',
  slug: 'missing-host-header',
  severity: 'info',
  summary: 'the upstream gets the name of an "upstream" block as its Host',
  why: 'Without "proxy_set_header Host" it is "$proxy_host": a name that only this configuration knows. The upstream chooses the wrong site and builds wrong links with it.',
  fix: 'Say "proxy_set_header Host $host;".',
  bad: {
    in: 'http',
    text: 'upstream backend { server 127.0.0.1:9000; }\nserver {\n    listen 127.0.0.1:8080;\n    location / { proxy_pass http://backend; }\n}',
  },
  good: {
    in: 'http',
    text: 'upstream backend { server 127.0.0.1:9000; }\nserver {\n    listen 127.0.0.1:8080;\n    proxy_set_header Host $host;\n    location / { proxy_pass http://backend; }\n}',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, block, target } of literalPasses(config)) {
      // A group that is called like a real host is meant to be asked for it.
      if (target.host.includes('.') || !upstreamNamed(config, target.host)) continue;
      const headers = headersSent(block);
      if (headers.has('host')) continue;
      const isDropping = headers.size > 0 && block.own('proxy_set_header').length === 0;
      yield {
        at: node,
        message: `the upstream gets "Host: ${shown(node.args[0], target.host)}"`,
        ...(!isDropping &&
          block.context === 'location' && {
            fix: {
              title: 'send the host that the client asked for',
              safe: false,
              edits: [lineBehind(node, 'proxy_set_header Host $host;')],
            },
          }),
      };
    }
  },
};
