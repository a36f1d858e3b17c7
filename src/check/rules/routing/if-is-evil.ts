import type { BlockView } from '../../../config/index.ts';
import type { DirectiveNode } from '../../../../grammar/index.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

/** The rewrite module's own: they are what "if" is for. */
const OF_REWRITE: ReadonlySet<string> = new Set(['return', 'rewrite', 'set', 'break', 'if', 'rewrite_log']);

/** They only add to what happens when the request is over, or how fast. */
const HARMLESS: ReadonlySet<string> = new Set(['access_log', 'limit_rate', 'limit_rate_after']);

export const ifIsEvil: Rule = {
  id: 'GW211',
  slug: 'if-is-evil',
  severity: 'warning',
  summary: 'a directive in an "if" of a location that is not one of the rewrite module',
  why: 'The last "if" that holds takes the place of the whole location: what other "if" say is lost, and so is "try_files" beside it. Only "return" and "rewrite ... last" do what they seem to (nginx: If is Evil).',
  fix: 'Decide by a "map" and use its variable in the directive, or send the request to a location of its own.',
  bad: { in: 'location', text: 'if ($arg_debug) { add_header X-Debug on; }' },
  good: { in: 'location', text: 'if ($arg_debug) { return 404; }' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const block of config.blocks('location if')) {
      const other = block.own().find(({ name }) => !OF_REWRITE.has(name.value) && !HARMLESS.has(name.value));
      if (!other || isLeft(block)) continue;
      yield {
        at: other,
        message: `"${other.name.value}" in "if" in a location is not reliable`,
        related: block.node && [{ span: block.node.name.span, label: 'takes the place of the location' }],
      };
    }
  },
};

/** The block answers at once, or sends the request elsewhere: nothing else of the location is asked then. */
function isLeft(block: BlockView): boolean {
  return block.own('return').length > 0 || block.own('rewrite').some(leaves);
}

function leaves({ args: [, target, flag] }: DirectiveNode): boolean {
  return flag ? flag.value !== 'break' : /^(https?:\/\/|\$scheme)/.test(target?.value ?? '');
}
