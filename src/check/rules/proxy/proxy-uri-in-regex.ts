import type { Rule } from '../../rule.ts';

export const proxyUriInRegex: Rule = {
  id: 'GW410',
  slug: 'proxy-uri-in-regex',
  severity: 'error',
  summary: 'a URI in "proxy_pass" where there is no prefix that it could take the place of',
  why: 'The configuration does not load: in a regex or named location, in "if" and in "limit_except" nobody could say what the URI replaces.',
  fix: 'Leave the URI out and change the path with "rewrite ... break", or use a prefix location.',
  bad: { text: 'location ~ ^/v1/ { proxy_pass http://127.0.0.1:9000/; }' },
  good: { text: 'location ~ ^/v1/ { proxy_pass http://127.0.0.1:9000; }' },
};
