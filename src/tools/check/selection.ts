import type { Rule } from '../../contract/index.ts';

/** A selection of rules by ids, slugs and prefixes (`GW3`, `GW3xx`). */
export interface Selection {
  /** Only these rules, even if off by default; default: all that are on. */
  readonly select?: readonly string[] | undefined;
  /** Rules to leave out. */
  readonly ignore?: readonly string[] | undefined;
}

const PREFIX = /^GW\d{1,3}$/;

/** Returns whether a name selects a rule: its id, its slug, or a prefix of its id. */
export function means(name: string, { id, slug }: Pick<Rule, 'id' | 'slug'>): boolean {
  if (name === slug) return true;
  const prefix = prefixOf(name);
  return PREFIX.test(prefix) && id.startsWith(prefix);
}

/** Returns whether a name is a prefix of ids, even if no rule has such an id yet. */
export function isPrefix(name: string): boolean {
  const prefix = prefixOf(name);
  return PREFIX.test(prefix) && prefix.length < 5;
}

/**
 * Returns whether selections include a rule; the first one with `select` decides. `strict`: rules that are off by
 * default count, too.
 */
export function isSelected(rule: Rule, selections: readonly Selection[], strict = false): boolean {
  const select = selections.find((selection) => selection.select !== undefined)?.select;
  if (select ? !select.some((name) => means(name, rule)) : rule.off === true && !strict) return false;
  return !isIgnored(rule, selections);
}

/** Returns whether one of the selections leaves out a rule. */
export function isIgnored(rule: Pick<Rule, 'id' | 'slug'>, selections: readonly Selection[]): boolean {
  return selections.some(({ ignore = [] }) => ignore.some((name) => means(name, rule)));
}

function prefixOf(name: string): string {
  return name.toUpperCase().replace(/X{1,2}$/, '');
}
