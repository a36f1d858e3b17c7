import { nearest } from '../config/index.ts';
import type { Rule } from './rule.ts';
import { RULES } from './rules/index.ts';

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

/** Whether there is a rule that the name means. A prefix of a subject that has no rules yet is no mistake. */
export function isRuleName(name: string): boolean {
  const prefix = prefixOf(name);
  return (PREFIX.test(prefix) && prefix.length < 5) || RULES.some((rule) => means(name, rule));
}

/** The rule that was probably meant. */
export function nearestRule(name: string): string | undefined {
  const isId = /^gw/i.test(name);
  return nearest(
    name,
    RULES.map(({ id, slug }) => (isId ? id : slug)),
  );
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
