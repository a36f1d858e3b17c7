import { spanInWord } from '../../../../grammar/index.ts';
import type { LocationMatch } from '../../../contract/index.ts';
import { literalPasses } from '../../proxying.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

export const proxyUriNormalized: Rule = {
  id: 'GW408',
  slug: 'proxy-uri-normalized',
  severity: 'warning',
  summary: 'a URI in "proxy_pass" that maps the path to itself, but decodes it',
  why: 'With a URI the path is decoded, cleaned and encoded again: "%2F" arrives as "/", "//" as "/". Programs behind the proxy that tell them apart see other paths than the client sent.',
  fix: 'Leave the URI out: the path then goes on as the client wrote it.',
  bad: { text: 'location /api/ { proxy_pass http://127.0.0.1:9000/api/; }' },
  good: { text: 'location /api/ { proxy_pass http://127.0.0.1:9000; }' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, block, target } of literalPasses(config)) {
      const match = block.args as LocationMatch | undefined;
      const [word] = node.args;
      if (match?.kind !== 'prefix' || match.path !== target.uri || !word || word.secret) continue;
      const { length } = word.value;
      yield {
        at: node,
        message: `"${target.uri}" in "proxy_pass" changes no path, but decodes it: "%2F" arrives as "/"`,
        fix: {
          title: 'leave the URI out: the path goes on as the client wrote it',
          safe: false,
          edits: [{ span: spanInWord(word, length - target.uri.length, length), text: '' }],
        },
      };
    }
  },
};
