/**
 * What stands between quotation marks in SQL, and numbers. Identifiers, with the digits in them and in `$1`, are matched
 * first and stay as they are.
 */
const TOKENS =
  /"(?:[^"]|"")*"|[a-z_$][\w$]*|(?<literal>(?:\bE)?'(?:[^'\\]|''|\\[^])*'|\d+(?:\.\d+)?(?:e[+-]?\d+)?)/gi;
/** A string with backslashes, which other literals do not escape. */
const ESCAPED = /\bE'(?:[^'\\]|''|\\[^])*'/gi;
const PLAIN = /'(?:[^']|'')*'/g;

/** Returns SQL without values: `?` in place of each string and number. */
export function normalizedSql(text: string): string {
  return text
    .replace(ESCAPED, '?')
    .replace(PLAIN, '?')
    .replace(TOKENS, (token, literal: string | undefined) => (literal === undefined ? token : '?'))
    .replace(/\s+/g, ' ')
    .trim();
}

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
