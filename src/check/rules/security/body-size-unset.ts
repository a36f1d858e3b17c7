import type { LocationMatch } from '../../../contract/index.ts';
import { targetOf } from '../../proxying.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

export const bodySizeUnset: Rule = {
  id: 'GW324',
  slug: 'body-size-unset',
  severity: 'info',
  summary: 'uploads are cut off at one megabyte, the default',
  why: 'Larger bodies are refused with 413 before the upstream sees them.',
  fix: 'Say with "client_max_body_size" how large an upload may be.',
  bad: { text: 'location /upload/ {\n    proxy_pass http://127.0.0.1:9000;\n}' },
  good: {
    text: 'location /upload/ {\n    client_max_body_size 50m;\n    proxy_pass http://127.0.0.1:9000;\n}',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const block of config.blocks('location')) {
      const match = block.args as LocationMatch | undefined;
      if (!match || !('path' in match) || !/upload(?!ed)s?\b/i.test(match.path)) continue;
      if (!targetOf(block) || block.effective('client_max_body_size').length > 0) continue;
      const at = block.node?.args.at(-1)?.span;
      if (at)
        yield {
          at,
          message: `uploads to "${match.path}" are limited to 1m, the default of "client_max_body_size"`,
        };
    }
  },
};
