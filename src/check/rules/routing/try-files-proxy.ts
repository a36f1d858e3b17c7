import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

export const tryFilesProxy: Rule = {
  id: 'GW212',
  slug: 'try-files-proxy',
  severity: 'warning',
  summary: '"try_files" and "proxy_pass" in one location',
  why: '"try_files" only decides which URI it is: the file is never sent, the upstream answers for it. What is not there goes to the last word, past the "proxy_pass".',
  fix: 'Move "proxy_pass" to a named location, and name that as the last word of "try_files".',
  bad: { in: 'location', text: 'try_files $uri /index.html;\nproxy_pass http://127.0.0.1:9000;' },
  good: {
    text: 'location / { try_files $uri @app; }\nlocation @app { proxy_pass http://127.0.0.1:9000; }',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, block } of config.uses('proxy_pass')) {
      const [files] = block.context === 'location' ? block.own('try_files') : [];
      // With a status as the last word it is a gate: only what is there reaches the upstream.
      if (!files || files.args.at(-1)?.value.startsWith('=')) continue;
      yield {
        at: node,
        message: '"proxy_pass" answers for what "try_files" finds: no file is ever sent',
        related: [{ span: files.span, label: 'decides the URI only' }],
      };
    }
  },
};
