import { type DirectiveNode, variablesIn } from '../../../grammar/index.ts';
import type { CheckedConfig, Problem, Rule } from '../../contract/index.ts';

const mapNoDefault: Rule = {
  id: 'GW215',
  slug: 'map-no-default',
  severity: 'warning',
  summary: 'a "map" without a default whose variable must not be empty',
  why: 'For all values that the map does not list, the variable is empty: a path lacks its directory, an upstream its host, or a check always succeeds.',
  fix: 'Add a default: "default ...;". If the empty string is intended, write it: default "";',
  bad: {
    in: 'http',
    text: 'map $host $site { a.example /srv/a; }\nserver { listen 8080; root $site; }',
  },
  good: {
    in: 'http',
    text: 'map $host $site { default /srv/none; a.example /srv/a; }\nserver { listen 8080; root $site; }',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    const open = new Map<string, DirectiveNode>();
    for (const { node } of config.uses('map')) {
      const name = /^\$(\w+)$/.exec(node.args[1]?.value ?? '')?.[1];
      if (name !== undefined && !(node.block ?? []).some(matchesAll)) open.set(name.toLowerCase(), node);
    }
    if (open.size === 0) return;
    for (const [name, use] of harmfulUses(config, open)) {
      const map = open.get(name) as DirectiveNode;
      yield {
        at: { ...map.span, end: (map.args.at(-1) ?? map.name).span.end },
        message: `map "$${name}" has no default: the variable is empty for all other values`,
        related: [{ span: use.span, label: 'must not be empty here' }],
      };
    }
  },
};

function matchesAll({ name }: DirectiveNode): boolean {
  return name.value === 'default' || /^~\*?(\^?\(?\.[*+]?\)?\$?|\^|\$)$/.test(name.value);
}

/** Directives for which an empty value means that nothing is done, or that accept any text. */
const TAKES_EMPTY =
  /^(if|map|geo|set|access_log|log_format|add_header|add_trailer|expires|limit_|proxy_(set_header|no_cache|cache_bypass|cookie_|hide_)|split_clients|sub_filter|auth_request_set)/;

/** Returns the first use of each variable that must not be empty, unless an enclosing `if` tests it. */
function harmfulUses(
  config: CheckedConfig,
  open: ReadonlyMap<string, unknown>,
): ReadonlyMap<string, DirectiveNode> {
  const found = new Map<string, DirectiveNode>();
  for (const block of config.blocks()) {
    const asked = new Set(
      [...block.outward()].flatMap(({ context, node }) =>
        context.endsWith(' if') && node ? variablesIn(node) : [],
      ),
    );
    for (const node of block.own()) {
      if (TAKES_EMPTY.test(node.name.value)) continue;
      for (const name of variablesIn(node))
        if (open.has(name) && !asked.has(name) && !found.has(name)) found.set(name, node);
    }
  }
  return found;
}

/** The rules about maps. */
export const rules: readonly Rule[] = [mapNoDefault];
