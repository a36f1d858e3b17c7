/**
 * The tokens of SQL that have values, and those in which something else could look like them: quoted identifiers, names
 * with digits, parameters. They are read in one pass, as PostgreSQL does (PostgreSQL documentation, 4.1): a quotation mark in an
 * identifier begins no string. A string without an end takes all that is left.
 */
const TOKENS = new RegExp(
  [
    '(?<comment>--[^\\r\\n]*|/\\*(?:[^*]|\\*(?!/))*(?:\\*/|$))',
    '"(?:[^"]|"")*(?:"|$)',
    "(?<literal>\\be'(?:[^'\\\\]|''|\\\\[^])*(?:'|$)",
    "(?:\\b(?:u&|[bnx]))?'(?:[^']|'')*(?:'|$)",
    '\\$(?<tag>(?:[a-z_\\u0080-\\uffff][\\w\\u0080-\\uffff]*)?)\\$[^]*?(?:\\$\\k<tag>\\$|$)',
    '\\d[\\d_]*(?:[xob][\\da-f_]+|(?:\\.\\d*)?(?:e[+-]?\\d+)?))',
    '[a-z_\\u0080-\\uffff][\\w$\\u0080-\\uffff]*|\\$\\d+',
  ].join('|'),
  'gi',
);

interface TokenGroups {
  readonly comment?: string;
  readonly literal?: string;
}

/** Returns SQL without values and comments: `?` in place of each string and number. */
export function normalizedSql(text: string): string {
  return text
    .replace(TOKENS, (token, ...groups) => {
      const { comment, literal } = groups.at(-1) as TokenGroups;
      return literal !== undefined ? '?' : comment === undefined ? token : ' ';
    })
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
