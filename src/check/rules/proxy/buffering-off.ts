import type { LocationMatch } from '../../../contract/index.ts';
import type { BlockView } from '../../../config/index.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

export const bufferingOff: Rule = {
  id: 'GW413',
  slug: 'buffering-off',
  severity: 'info',
  summary: 'buffering is off for everything, not just where answers are streams',
  why: 'Without it a slow client holds the upstream as long as its download lasts.',
  fix: 'Turn it off only in the locations of event streams and the like.',
  bad: { text: 'proxy_buffering off;\nlocation / { proxy_pass http://127.0.0.1:9000; }' },
  good: { text: 'location /events/ {\n    proxy_buffering off;\n    proxy_pass http://127.0.0.1:9000;\n}' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, block } of config.uses('proxy_buffering')) {
      if (node.args[0]?.value.toLowerCase() === 'off' && isWide(block))
        yield {
          at: node,
          message: '"proxy_buffering off" ties the upstream to slow clients, for all requests here',
        };
    }
  },
};

function isWide({ context, args }: BlockView): boolean {
  const match = args as LocationMatch | undefined;
  return context !== 'location' || (match?.kind === 'prefix' && match.path === '/');
}
