import type { DirectiveNode } from '../../../grammar/index.ts';
import { type BlockView, droppedIn } from '../../config/index.ts';
import type { CheckedConfig, Problem, Rule } from '../../contract/index.ts';

/** Directives of the rewrite module, which are safe in "if". */
const OF_REWRITE: ReadonlySet<string> = new Set(['return', 'rewrite', 'set', 'break', 'if', 'rewrite_log']);

/** Directives that only affect logging or the rate of the response. */
const HARMLESS: ReadonlySet<string> = new Set(['access_log', 'limit_rate', 'limit_rate_after']);

const ifIsEvil: Rule = {
  id: 'GW211',
  slug: 'if-is-evil',
  severity: 'warning',
  summary: 'a directive of another module than rewrite in an "if" of a location',
  why: 'The last "if" whose condition is true replaces the whole location: the other "if" blocks and "try_files" have no effect. Only "return" and "rewrite ... last" work as expected (nginx: If is Evil).',
  fix: 'Use the variable of a "map" in the directive, or redirect the request to a location of its own.',
  bad: {
    in: 'location',
    text: 'try_files $uri =404;\nif ($arg_debug) { add_header X-Debug on; }',
  },
  good: { in: 'location', text: 'try_files $uri =404;\nif ($arg_debug) { return 404; }' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const block of config.blocks('location if')) {
      const other = block.own().find(({ name }) => !OF_REWRITE.has(name.value) && !HARMLESS.has(name.value));
      if (!other || isLeft(block) || losesNothing(block)) continue;
      yield {
        at: other,
        message: `"${other.name.value}" in "if" in a location is not reliable`,
        related: block.node && [{ span: block.node.name.span, label: 'replaces the location' }],
      };
    }
  },
};

/** Directives that an `if` may set without changing how the location is served. */
const ADDED: ReadonlySet<string> = new Set(['add_header', 'add_trailer', 'expires', 'etag']);

/** Tells whether the location has no other `if`, no `try_files`, and no headers that this block would replace. */
function losesNothing(block: BlockView): boolean {
  const { outer } = block;
  if (!outer || outer.own('if').length > 1 || outer.own('try_files').length > 0) return false;
  const adds = block
    .own()
    .every(({ name: { value } }) => ADDED.has(value) || OF_REWRITE.has(value) || HARMLESS.has(value));
  return adds && !droppedIn(block, 'add_header');
}

/** Tells whether the block responds or redirects the request, so that the rest of the location is not used. */
function isLeft(block: BlockView): boolean {
  return block.own('return').length > 0 || block.own('rewrite').some(leaves);
}

function leaves({ args: [, target, flag] }: DirectiveNode): boolean {
  return flag ? flag.value !== 'break' : /^(https?:\/\/|\$scheme)/.test(target?.value ?? '');
}

const NUMBERED = /\$(?:[1-9]|\{[1-9]\})/g;
/** A capturing group inside another. */
const NESTED = /\((?!\?)[^()]*\((?!\?)/;

const nginxCvePattern: Rule = {
  id: 'GW326',
  slug: 'nginx-cve-pattern',
  severity: 'info',
  summary: 'a rewrite that overflows a buffer in nginx before 1.30.2',
  why: 'gw is not affected (CVE-2026-42945, CVE-2026-9256), but with such an nginx the same configuration lets clients crash the workers.',
  fix: 'Use named groups: "(?<id>[0-9]+)" and "$id" instead of "$1".',
  bad: {
    in: 'location',
    text: 'rewrite ^/item/([0-9]+)$ /shop?item=$1;\nset $item $1;\nreturn 404;',
  },
  good: {
    in: 'location',
    text: 'rewrite ^/item/(?<number>[0-9]+)$ /shop?item=$number;\nset $item $number;\nreturn 404;',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const block of config.blocks('server', 'location', 'server if', 'location if')) {
      const steps = block.own('rewrite', 'set', 'if');
      for (const [index, node] of steps.entries()) {
        const cve = overlaps(node) ?? (leaks(node) && steps.slice(index + 1).some(usesCapture) && LEAK);
        if (cve)
          yield {
            at: node,
            message: `nginx before 1.30.2 overflows a buffer here (${cve}); gw does not`,
            hint: 'use named groups instead of "$1"',
          };
      }
    }
  },
};

const LEAK = 'CVE-2026-42945';

/** Tells whether a replacement has a "?" and rewriting goes on: nginx then escapes the next captures incorrectly. */
function leaks({ name, args: [, replacement, flag] }: DirectiveNode): boolean {
  return name.value === 'rewrite' && !flag && replacement?.value.includes('?') === true;
}

function usesCapture({ name, args }: DirectiveNode): boolean {
  return name.value !== 'if' && (args[1]?.value.match(NUMBERED)?.length ?? 0) > 0;
}

/** Returns two captures of which one contains the other, both used in a redirect or its arguments. */
function overlaps({ name, args: [pattern, replacement, flag] }: DirectiveNode): string | undefined {
  const text = replacement?.value ?? '';
  if (name.value !== 'rewrite' || !NESTED.test(pattern?.value ?? '')) return undefined;
  const isEscaped =
    text.includes('?') ||
    /^(?:https?:\/\/|\$scheme)/.test(text) ||
    /^(?:redirect|permanent)$/.test(flag?.value ?? '');
  return isEscaped && new Set(text.match(NUMBERED)).size > 1 ? 'CVE-2026-9256' : undefined;
}

/** The rules about `if` and `rewrite`. */
export const rules: readonly Rule[] = [ifIsEvil, nginxCvePattern];
