import type { LocationMatch } from '../../../contract/index.ts';
import { lengthened } from '../../edits.ts';
import { literalPasses } from '../../proxying.ts';
import type { LiteralPass, Pass } from '../../proxying.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

export const proxySlashMismatch: Rule = {
  id: 'GW409',
  slug: 'proxy-slash-mismatch',
  severity: 'warning',
  summary: 'only one of the location and the URI of its "proxy_pass" ends in a slash',
  why: 'The URI takes the place of the prefix, letter by letter: "/api" to "/v1/" makes "/v1//x" of "/api/x", and "/api/" to "/v1" makes "/v1x".',
  fix: 'End both with a slash, or neither.',
  bad: { text: 'location /api { proxy_pass http://127.0.0.1:9000/v1/; }' },
  good: { text: 'location /api/ { proxy_pass http://127.0.0.1:9000/v1/; }' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const pass of literalPasses(config)) {
      const match = pass.block.args as LocationMatch | undefined;
      if (match?.kind !== 'prefix' || pass.node.args[0]?.secret || !isMismatch(match.path, pass.target.uri))
        continue;
      yield problemOf(pass, match.path);
    }
  },
};

/** A URI that ends in `-` or `=` is meant to go on in the same word, and a file such as `/hook.php` is asked for itself. */
function isMismatch(path: string, uri: string): boolean {
  if (uri === '' || uri.includes('?')) return false;
  return path.endsWith('/') ? /(?:^|\/)[^/.]*[a-z0-9]$/i.test(uri) : uri.endsWith('/');
}

function problemOf({ node, block, target }: Pass<LiteralPass>, path: string): Problem {
  const [word] = node.args;
  const prefix = block.node?.args.at(-1);
  const example = path.endsWith('/') ? `${path}x` : `${path}/x`;
  const short = path.endsWith('/') ? word : prefix;
  return {
    at: node,
    message: `location "${path}" + URI "${target.uri}" maps "${example}" to "${target.uri}${example.slice(path.length)}"`,
    ...(prefix && { related: [{ span: prefix.span, label: 'takes the place of this' }] }),
    ...(short && {
      fix: {
        title: `end ${path.endsWith('/') ? 'the URI' : 'the location'} with "/"`,
        safe: false,
        edits: [lengthened(short, '/')],
      },
    }),
  };
}
