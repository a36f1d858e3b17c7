import { cutText } from '../log/index.ts';

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

/** Longer statements are cut. */
const MOST_BYTES = 2_048;

/** Returns SQL as logs and status pages show it: normalized, and cut. */
export function shownSql(text: string): string {
  return cutText(normalizedSql(text), MOST_BYTES);
}
