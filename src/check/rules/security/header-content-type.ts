import type { DirectiveNode } from '../../../../grammar/index.ts';
import type { BlockView } from '../../../config/index.ts';
import { rewritten } from '../../edits.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

export const headerContentType: Rule = {
  id: 'GW306',
  slug: 'header-content-type',
  severity: 'info',
  summary: '"add_header Content-Type" does not set the type, it adds a second header',
  why: 'The answer has two Content-Type headers; which one a client believes is its own choice.',
  fix: 'Set the type with "default_type" or "types"; hide an upstream\'s with "proxy_hide_header".',
  bad: { in: 'location', text: 'add_header Content-Type application/json;\nreturn 200 "{}";' },
  good: { in: 'location', text: 'default_type application/json;\nreturn 200 "{}";' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, block } of config.uses('add_header')) {
      const [name, value] = node.args;
      if (name?.value.toLowerCase() !== 'content-type' || !value) continue;
      // The upstream's own is taken away first: then there is one.
      const hidden = block.effective('proxy_hide_header');
      if (hidden.some(({ args }) => args[0]?.value.toLowerCase() === 'content-type')) continue;
      // An answer without a body has no type of its own.
      if (block.own('return').some(({ args }) => args[0]?.value === '204')) continue;
      yield {
        at: node,
        message: `"add_header Content-Type" adds a second Content-Type beside that of the answer`,
        hint: 'set the type with "default_type"',
        ...(isMovable(node, block) && {
          fix: {
            title: `say "default_type ${value.value}" instead`,
            safe: false,
            edits: [{ span: node.span, text: `default_type ${rewritten(value, value.value).text};` }],
          },
        }),
      };
    }
  },
};

function isMovable({ args }: DirectiveNode, block: BlockView): boolean {
  const isConstant = args[1]?.secret === false && !args[1].value.includes('$');
  return isConstant && block.context !== 'location if' && block.own('default_type').length === 0;
}
