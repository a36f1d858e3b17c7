import type { CheckedConfig, Problem, Rule } from '../../contract/index.ts';

const autoindexOn: Rule = {
  id: 'GW317',
  slug: 'autoindex-on',
  severity: 'info',
  summary: 'directories are listed for all clients',
  why: 'A listing shows every file, including those that no page links to: backups, drafts, dumps.',
  fix: 'Turn "autoindex" off, or restrict access to the location.',
  bad: { in: 'http', text: 'server {\n    listen 80;\n    location /files/ { autoindex on; }\n}' },
  good: { in: 'http', text: 'server {\n    listen 80;\n    location /files/ { autoindex off; }\n}' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, block } of config.uses('autoindex')) {
      if (node.args[0]?.value.toLowerCase() === 'on' && config.isOpen(block))
        yield { at: node, message: '"autoindex on" lists every file of the directory for all clients' };
    }
  },
};

/** The rules about static files. */
export const rules: readonly Rule[] = [autoindexOn];
