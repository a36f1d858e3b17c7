import {
  type DirectiveNode,
  type Fix,
  lineBefore,
  namesText,
  reworded,
  writtenText,
} from '../../../grammar/index.ts';
import { type BlockView, droppedIn, type Dropping, headerOf } from '../../config/index.ts';
import type { CheckedConfig, Problem, Rule } from '../../contract/index.ts';

const headerRedefinition: Rule = {
  id: 'GW304',
  slug: 'header-redefinition',
  severity: 'warning',
  summary: '"add_header" on an inner level drops the headers of the outer level',
  why: 'A level with an "add_header" of its own inherits none: security headers that were set for all responses are silently missing here.',
  fix: 'Add "add_header_inherit merge;" to this level, or repeat the headers.',
  bad: {
    text: 'add_header X-Frame-Options DENY;\nlocation /files/ {\n    add_header Cache-Control no-cache;\n}',
  },
  good: {
    text: 'add_header X-Frame-Options DENY;\nlocation /files/ {\n    add_header_inherit merge;\n    add_header Cache-Control no-cache;\n}',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const block of config.blocksWith('add_header')) {
      const dropping = droppedIn(block, 'add_header');
      // With an explicit `add_header_inherit` it is intended.
      if (!dropping || block.own('add_header_inherit').length > 0) continue;
      const { at, dropped } = dropping;
      yield {
        at,
        message: `"add_header" here drops ${namesText(dropped.map(headerOf))} of the outer level`,
        label: 'from here on only the headers of this level apply',
        related: dropped.map(({ span }) => ({ span, label: 'dropped' })),
        fix: keepingFix(dropping),
      };
    }
  },
};

/** Returns the fix. Merging keeps the headers of both levels, so one that is replaced here would be sent twice. */
function keepingFix({ at, dropped, replaces }: Dropping): Fix {
  if (!replaces) {
    return {
      title: 'add "add_header_inherit merge": responses also get the dropped headers',
      safe: false,
      edits: [lineBefore(at, 'add_header_inherit merge;')],
    };
  }
  return {
    title: 'repeat the dropped headers',
    safe: false,
    edits: dropped.map((node) => lineBefore(at, writtenText(node))),
  };
}

const headerContentType: Rule = {
  id: 'GW306',
  slug: 'header-content-type',
  severity: 'info',
  summary: '"add_header Content-Type" adds a second header instead of setting the type',
  why: 'The response has two Content-Type headers; which one is used depends on the client.',
  fix: 'Set the type with "default_type" or "types"; hide an upstream\'s with "proxy_hide_header".',
  bad: { in: 'location', text: 'add_header Content-Type application/json;\nreturn 200 "{}";' },
  good: { in: 'location', text: 'default_type application/json;\nreturn 200 "{}";' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, block } of config.uses('add_header')) {
      const [name, value] = node.args;
      if (name?.value.toLowerCase() !== 'content-type' || !value) continue;
      // If the header of the upstream is hidden, there is only one.
      const hidden = block.effective('proxy_hide_header');
      if (hidden.some(({ args }) => args[0]?.value.toLowerCase() === 'content-type')) continue;
      // A response without a body has no type.
      if (block.own('return').some(({ args }) => args[0]?.value === '204')) continue;
      yield {
        at: node,
        message: `"add_header Content-Type" adds a second Content-Type to the response`,
        hint: 'set the type with "default_type"',
        ...(isMovable(node, block) && {
          fix: {
            title: `use "default_type ${value.value}" instead`,
            safe: false,
            edits: [{ span: node.span, text: `default_type ${reworded(value, value.value).text};` }],
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

/** The rules about response headers. */
export const rules: readonly Rule[] = [headerRedefinition, headerContentType];
