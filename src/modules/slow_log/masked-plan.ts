import { normalizedSql } from '../../postgres/index.ts';

/** Members of a plan of PostgreSQL that have numbers or words of its own; all others are expressions. */
const OWN = /Type|Name|Schema|Alias|Strategy|Relationship|Direction|Command|Operation|Mode|Method|Scan/;
const MAX_DEPTH = 64;

/** Returns a plan in JSON without the values in its expressions. */
export function maskedPlan(plan: unknown, member = '', depth = 0): unknown {
  if (depth > MAX_DEPTH) return null;
  if (typeof plan === 'string') return OWN.test(member) ? plan : normalizedSql(plan);
  if (Array.isArray(plan)) return plan.map((each: unknown) => maskedPlan(each, member, depth + 1));
  if (typeof plan !== 'object' || plan === null) return plan;
  return Object.fromEntries(
    Object.entries(plan).map(([name, value]) => [name, maskedPlan(value, name, depth + 1)]),
  );
}
