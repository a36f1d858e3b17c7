import type { Rule } from '../../rule.ts';

export const unclosedBlock: Rule = {
  id: 'GW103',
  slug: 'unclosed-block',
  severity: 'error',
  summary: 'a block that the end of the file leaves open',
  why: 'All that follows belongs to the block, so nothing of it is loaded.',
  fix: 'Add the "}"; the second place is the block that, by its indent, lacks it.',
  bad: { in: 'main', text: 'http {\n  server {\n    listen 127.0.0.1:8080;\n}\n' },
  good: { in: 'main', text: 'http {\n  server {\n    listen 127.0.0.1:8080;\n  }\n}\n' },
};
