import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

export const serverIfHost: Rule = {
  id: 'GW214',
  slug: 'server-if-host',
  severity: 'info',
  summary: 'an "if" on the host in a server',
  why: 'It is asked for each request, and the server answers for names that it does not name. A server is found by its name before that, at no cost.',
  fix: 'Give that host a server of its own.',
  bad: { text: 'if ($host = www.example.com) { return 301 https://example.com$request_uri; }' },
  good: {
    in: 'http',
    text: 'server { listen 8080; server_name www.example.com; return 301 https://example.com$request_uri; }',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node } of config.blocks('server if')) {
      const variable = /^\(?\$\{?(host|http_host|server_name)\}?$/i.exec(
        node?.args.find(({ value }) => value !== '(')?.value ?? '',
      )?.[1];
      if (!node || variable === undefined || node.args.length < 2) continue;
      yield {
        at: node.name.span,
        message: `"if ($${variable} ...)" in a server: a server of its own is found by its name`,
      };
    }
  },
};
