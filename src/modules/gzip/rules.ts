import type { CheckedConfig, Problem, Rule } from '../../contract/index.ts';

const gzipTypes: Rule = {
  id: 'GW905',
  slug: 'gzip-types',
  severity: 'info',
  off: true,
  summary: 'compression of HTML only',
  why: 'Style sheets, scripts and JSON, usually most of the traffic, are not compressed.',
  fix: 'List the types: "gzip_types text/css application/javascript application/json image/svg+xml;".',
  bad: { text: 'gzip on;' },
  good: { text: 'gzip on; gzip_types text/css application/javascript application/json;' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, block } of config.uses('gzip')) {
      if (node.args[0]?.value !== 'on' || block.effective('gzip_types').length > 0) continue;
      yield {
        at: node,
        message: '"gzip on" only compresses "text/html"',
        hint: 'add "gzip_types text/css application/javascript application/json"',
      };
    }
  },
};

/** The rules about the gzip module. */
export const rules: readonly Rule[] = [gzipTypes];
