import type { Rule } from '../../rule.ts';

export const secretFile: Rule = {
  id: 'GW120',
  slug: 'secret-file',
  severity: 'error',
  summary: 'a "${file:...}" that cannot be read',
  why: 'The value would be empty.',
  fix: 'Correct the path, or let the user that starts the gateway read the file.',
  bad: { text: 'add_header X-Build "${file:build.txt}";' },
  good: { text: 'add_header X-Build "${file:build.txt}";', files: { 'build.txt': '1b4f' } },
};
