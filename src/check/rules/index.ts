import type { Rule } from '../rule.ts';
import { badValue } from './loading/bad-value.ts';
import { unknownDirective } from './loading/unknown-directive.ts';
import { aliasTraversal } from './security/alias-traversal.ts';

/** Every rule, in the order of the ids. */
export const RULES: readonly Rule[] = [unknownDirective, badValue, aliasTraversal];

const byName = new Map(RULES.flatMap((rule) => [rule.id, rule.slug].map((name) => [name, rule])));

/** A rule by its id or its slug. */
export function ruleNamed(name: string): Rule | undefined {
  return byName.get(name);
}
