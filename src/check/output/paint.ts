import type { Paints } from '../../../grammar/index.ts';
import type { RuleSeverity } from '../rule.ts';

/** The colour of a severity. */
export function paintOf(severity: RuleSeverity, { red, yellow, cyan }: Paints): (text: string) => string {
  return { error: red, warning: yellow, info: cyan }[severity];
}
