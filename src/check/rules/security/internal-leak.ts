import type { DirectiveNode } from '../../../../grammar/index.ts';
import type { BlockView } from '../../../config/index.ts';
import type { LocationMatch } from '../../../contract/index.ts';
import { lineBefore } from '../../edits.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

/** Their targets are asked by the gateway itself; nobody else has business there. */
const ASKING = ['auth_request', 'mirror'] as const;

export const internalLeak: Rule = {
  id: 'GW318',
  slug: 'internal-leak',
  severity: 'warning',
  summary: 'a location for subrequests that everybody can call',
  why: 'Whoever calls the location of "auth_request" or "mirror" directly talks to the service behind it, with headers of their own choice.',
  fix: 'Add "internal" to the location.',
  bad: {
    text: 'location / { auth_request /auth; }\nlocation = /auth {\n    proxy_pass http://127.0.0.1:9000;\n}',
  },
  good: {
    text: 'location / { auth_request /auth; }\nlocation = /auth {\n    internal;\n    proxy_pass http://127.0.0.1:9000;\n}',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const server of config.blocks('server')) {
      const all = within(server);
      const targets = targetsIn([...server.outward(), ...all]);
      for (const block of all) {
        const match = block.args as LocationMatch | undefined;
        const path = block.context === 'location' && match && 'path' in match ? match.path : '/';
        const asking = targets.get(path);
        // Who gets a fixed answer learns nothing.
        const isFixed = block.own('return').length > 0 || block.config('core')['internal'] === true;
        if (path === '/' || !asking || !block.node || isFixed) continue;
        yield problemOf(block.node, asking);
      }
    }
  },
};

function problemOf(location: DirectiveNode, asking: DirectiveNode): Problem {
  const path = location.args.at(-1);
  const [first] = location.block ?? [];
  return {
    at: path?.span ?? location,
    message: `location "${path?.value}" answers "${asking.name.value}" and everybody else: add "internal"`,
    related: [{ span: asking.span, label: 'asks it' }],
    ...(first && {
      fix: {
        title: 'add "internal": requests from outside get 404 then',
        safe: false,
        edits: [lineBefore(first, 'internal;')],
      },
    }),
  };
}

function targetsIn(blocks: readonly BlockView[]): ReadonlyMap<string, DirectiveNode> {
  return new Map(
    blocks
      .flatMap((block) => block.own(...ASKING))
      .flatMap((node) => (node.args[0] ? [[node.args[0].value, node] as const] : [])),
  );
}

function within(block: BlockView): readonly BlockView[] {
  return [block, ...block.inner.flatMap(within)];
}
