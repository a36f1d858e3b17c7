import type { Rule } from '../../rule.ts';

export const duplicateServerName: Rule = {
  id: 'GW206',
  slug: 'duplicate-server-name',
  severity: 'warning',
  summary: 'two servers of one port with the same name',
  why: 'The first one keeps the name, the second never answers for it.',
  fix: 'Delete one of the names.',
  bad: {
    in: 'http',
    text: 'server { listen 8080; server_name a.example; return 204; }\nserver { listen 8080 default_server; server_name b.example a.example; return 404; }',
  },
  good: {
    in: 'http',
    text: 'server { listen 8080; server_name a.example; return 204; }\nserver { listen 8080 default_server; server_name b.example; return 404; }',
  },
};
