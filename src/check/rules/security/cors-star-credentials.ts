import type { BlockView } from '../../../config/index.ts';
import { byHeader } from '../../proxying.ts';
import { blocksWith } from '../../blocks-with.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

export const corsStarCredentials: Rule = {
  id: 'GW314',
  slug: 'cors-star-credentials',
  severity: 'error',
  summary: 'every origin may read answers that were given to a logged-in user',
  why: 'With Access-Control-Allow-Credentials and the request\'s own origin sent back, any page may read what the user may; with "*" browsers refuse altogether.',
  fix: 'Send back only origins that a "map" knows.',
  bad: {
    in: 'location',
    text: 'add_header Access-Control-Allow-Origin $http_origin;\nadd_header Access-Control-Allow-Credentials true;',
  },
  good: {
    in: 'http',
    text: 'map $http_origin $allowed_origin {\n    default "";\n    https://shop.example $http_origin;\n}\nserver {\n    listen 127.0.0.1:8080;\n    add_header Access-Control-Allow-Origin $allowed_origin;\n    add_header Access-Control-Allow-Credentials true;\n}',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const block of blocksWith(config, 'add_header')) {
      const headers = byHeader(block.effective('add_header'));
      const origin = headers.get('access-control-allow-origin');
      const credentials = headers.get('access-control-allow-credentials');
      const value = origin?.args[1]?.value;
      if (!origin || credentials?.args[1]?.value.toLowerCase() !== 'true') continue;
      const isReflected = /^\$(?:http_origin|\{http_origin\})$/i.test(value ?? '');
      if (value !== '*' && !(isReflected && !isChecked(block))) continue;
      yield {
        at: origin,
        message: `"Access-Control-Allow-Origin ${value}" with credentials ${isReflected ? 'lets every page read what the user may read' : 'is refused by browsers'}`,
        related: [{ span: credentials.span, label: 'credentials are allowed here' }],
      };
    }
  },
};

/** An `if` around it, or one that refuses before it, looks at the origin. */
function isChecked(block: BlockView): boolean {
  return [...block.outward()].some((around) =>
    [around.node, ...around.own('if')].some(
      (node) =>
        node?.name.value === 'if' &&
        node.args.some(({ value }) => value.toLowerCase().includes('$http_origin')),
    ),
  );
}
