import type { DirectiveNode } from '../../../../grammar/index.ts';
import { secretSpans } from '../../../config/index.ts';
import { droppedIn, headerOf, writtenText } from '../../dropped-headers.ts';
import { lineBefore } from '../../edits.ts';
import { namesText } from '../../names.ts';
import { forwards } from '../../proxying.ts';
import { blocksWith } from '../../blocks-with.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

export const proxyHeaderRedefinition: Rule = {
  id: 'GW404',
  slug: 'proxy-header-redefinition',
  severity: 'warning',
  summary: '"proxy_set_header" on an inner level drops the headers of the level above',
  why: 'A level with "proxy_set_header" of its own inherits none: the upstream no longer learns the host or the address of the client.',
  fix: 'Repeat the headers of the level above.',
  bad: {
    text: 'proxy_set_header Host $host;\nlocation / {\n    proxy_set_header X-Request-ID $request_id;\n    proxy_pass http://127.0.0.1:9000;\n}',
  },
  good: {
    text: 'proxy_set_header Host $host;\nlocation / {\n    proxy_set_header Host $host;\n    proxy_set_header X-Request-ID $request_id;\n    proxy_pass http://127.0.0.1:9000;\n}',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const block of blocksWith(config, 'proxy_set_header')) {
      const dropping = forwards(block) ? droppedIn(block, 'proxy_set_header') : undefined;
      const dropped = dropping?.dropped.filter((node) => !isDefault(node)) ?? [];
      if (!dropping || dropped.length === 0) continue;
      const { at } = dropping;
      yield {
        at,
        message: `"proxy_set_header" here drops ${namesText(dropped.map(headerOf))} of the level above`,
        label: 'from here on only the headers of this level count',
        related: dropped.map(({ span }) => ({ span, label: 'dropped' })),
        // A secret is not written down a second time, nor shown in a patch.
        ...(secretSpans({ directives: dropped, sources: [] }, config.registry).length === 0 && {
          fix: {
            title: 'repeat the headers of the level above',
            safe: false,
            edits: dropped.map((node) => lineBefore(at, writtenText(node))),
          },
        }),
      };
    }
  },
};

/** What the upstream gets without being told. */
function isDefault({ args }: DirectiveNode): boolean {
  const [name, value] = args.map((word) => word.value.toLowerCase());
  return (name === 'connection' && value === '') || (name === 'host' && value === '$proxy_host');
}
