import type { Rule } from '../contract/index.ts';

/** Which rules count: ids, slugs and prefixes (`GW3`, `GW3xx`). */
export interface Selection {
  /** Only these; those that are off by default too. Absent: all that are not off. */
  readonly select?: readonly string[] | undefined;
  /** Not these. */
  readonly ignore?: readonly string[] | undefined;
}

const PREFIX = /^GW\d{1,3}$/;

/** Whether a name means a rule: its id, its slug, or the beginning of its id. */
export function means(name: string, { id, slug }: Pick<Rule, 'id' | 'slug'>): boolean {
  if (name === slug) return true;
  const prefix = prefixOf(name);
  return PREFIX.test(prefix) && id.startsWith(prefix);
}

/** Whether a name is the beginning of ids, and of several even where no rule begins so yet. */
export function isPrefix(name: string): boolean {
  const prefix = prefixOf(name);
  return PREFIX.test(prefix) && prefix.length < 5;
}

/** Whether a rule counts under these selections, of which the first one that selects decides. `strict`: be it off or not. */
export function isSelected(rule: Rule, selections: readonly Selection[], strict = false): boolean {
  const select = selections.find((selection) => selection.select !== undefined)?.select;
  if (select ? !select.some((name) => means(name, rule)) : rule.off === true && !strict) return false;
  return !isIgnored(rule, selections);
}

/** Whether one of the selections does without a rule. */
export function isIgnored(rule: Pick<Rule, 'id' | 'slug'>, selections: readonly Selection[]): boolean {
  return selections.some(({ ignore = [] }) => ignore.some((name) => means(name, rule)));
}

function prefixOf(name: string): string {
  return name.toUpperCase().replace(/X{1,2}$/, '');
}
