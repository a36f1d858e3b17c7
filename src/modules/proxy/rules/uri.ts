import { lengthened, spanInWord } from '../../../../grammar/index.ts';
import {
  type CheckedConfig,
  literalPasses,
  type LiteralTarget,
  matchOf,
  type Pass,
  type Problem,
  type Rule,
} from '../../../contract/index.ts';

const proxyUriNormalized: Rule = {
  id: 'GW408',
  slug: 'proxy-uri-normalized',
  severity: 'warning',
  summary: 'a URI in "proxy_pass" that does not change the path, but decodes it',
  why: 'With a URI, the path is decoded, normalized and encoded again: "%2F" arrives as "/", "//" as "/". Programs behind the proxy may see another path than the client sent.',
  fix: 'Remove the URI: the path is then passed on as the client sent it.',
  bad: { text: 'location /api/ { proxy_pass http://127.0.0.1:9000/api/; }' },
  good: { text: 'location /api/ { proxy_pass http://127.0.0.1:9000; }' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, block, target } of literalPasses(config)) {
      const match = matchOf(block);
      const [word] = node.args;
      if (match?.kind !== 'prefix' || match.path !== target.uri || !word || word.secret) continue;
      const { length } = word.value;
      yield {
        at: node,
        message: `"${target.uri}" in "proxy_pass" does not change the path, but decodes it: "%2F" arrives as "/"`,
        fix: {
          title: 'remove the URI: the path is then passed on as the client sent it',
          safe: false,
          edits: [{ span: spanInWord(word, length - target.uri.length, length), text: '' }],
        },
      };
    }
  },
};

const proxySlashMismatch: Rule = {
  id: 'GW409',
  slug: 'proxy-slash-mismatch',
  severity: 'warning',
  summary: 'either the location or the URI of its "proxy_pass" ends with a slash, but not both',
  why: 'The URI replaces the prefix literally: with "/api" and "/v1/", "/api/x" becomes "/v1//x"; with "/api/" and "/v1" it becomes "/v1x".',
  fix: 'End both with a slash, or neither.',
  bad: { text: 'location /api { proxy_pass http://127.0.0.1:9000/v1/; }' },
  good: { text: 'location /api/ { proxy_pass http://127.0.0.1:9000/v1/; }' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const pass of literalPasses(config)) {
      const match = matchOf(pass.block);
      if (match?.kind !== 'prefix' || pass.node.args[0]?.secret || !isMismatch(match.path, pass.target.uri))
        continue;
      yield slashFinding(pass, match.path);
    }
  },
};

/** Tells whether only one of the two ends with a slash. A URI such as `/id=` or `/hook.php` is no mistake. */
function isMismatch(path: string, uri: string): boolean {
  if (uri === '' || uri.includes('?')) return false;
  return path.endsWith('/') ? /(?:^|\/)[^/.]*[a-z0-9]$/i.test(uri) : uri.endsWith('/');
}

function slashFinding({ node, block, target }: Pass<LiteralTarget>, path: string): Problem {
  const [word] = node.args;
  const prefix = block.node?.args.at(-1);
  const example = path.endsWith('/') ? `${path}x` : `${path}/x`;
  const short = path.endsWith('/') ? word : prefix;
  return {
    at: node,
    message: `location "${path}" + URI "${target.uri}" maps "${example}" to "${target.uri}${example.slice(path.length)}"`,
    ...(prefix && { related: [{ span: prefix.span, label: 'replaces this' }] }),
    ...(short && {
      fix: {
        title: `end ${path.endsWith('/') ? 'the URI' : 'the location'} with "/"`,
        safe: false,
        edits: [lengthened(short, '/')],
      },
    }),
  };
}

const proxyUriInRegex: Rule = {
  id: 'GW410',
  slug: 'proxy-uri-in-regex',
  severity: 'error',
  summary: 'a URI in "proxy_pass" where there is no prefix to replace',
  why: 'In a regex or named location, in "if" and in "limit_except", it is not defined what the URI replaces, so the configuration does not load.',
  fix: 'Remove the URI and change the path with "rewrite ... break", or use a prefix location.',
  bad: { text: 'location ~ ^/v1/ { proxy_pass http://127.0.0.1:9000/; }' },
  good: { text: 'location ~ ^/v1/ { proxy_pass http://127.0.0.1:9000; }' },
};

/** Rules about the URI of a `proxy_pass`. */
export const PROXY_URI_RULES: readonly Rule[] = [proxyUriNormalized, proxySlashMismatch, proxyUriInRegex];
