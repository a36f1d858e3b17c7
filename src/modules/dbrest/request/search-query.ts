/** A fault that `to_tsquery` finds in a query: its offset, and the text that is expected there. */
interface SearchFault {
  readonly at: number;
  readonly expected: string;
}

const OPERAND = 'search word, "!" or "("';
const OPERATOR = '"&", "|", "<->" or ")"';
const BLANKS = /[ \t-\r]*/y;
const PHRASE = /<(?:-|\d+)>/y;
const MODIFIERS = /(?::[a-dA-D*]*)?/y;
/** The locale of the database decides whether these separate words. */
const BLANK_IN_SOME_LOCALES = /[\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;

/**
 * Finds what `to_tsquery` would refuse as a syntax error; `undefined` if it takes the query. (PostgreSQL source,
 * tsquery.c `gettoken_query_standard`, tsvector_parser.c `gettoken_tsvector`.)
 */
export function faultInSearch(query: string): SearchFault | undefined {
  if (BLANK_IN_SOME_LOCALES.test(query)) return undefined;
  let depth = 0;
  let wantsOperand = true;
  let at = endOf(BLANKS, query, 0);
  if (at === query.length) return undefined;
  for (; ; at = endOf(BLANKS, query, at)) {
    const next = query[at];
    if (wantsOperand) {
      if (next === '!' || next === '(') {
        depth += next === '(' ? 1 : 0;
        at += 1;
        continue;
      }
      if (next === undefined || ':&|)<'.includes(next)) return { at, expected: OPERAND };
      const word = endOfWord(query, at);
      if (typeof word !== 'number') return word;
      at = endOf(MODIFIERS, query, word);
      wantsOperand = false;
    } else if (next === undefined) {
      return depth > 0 ? { at, expected: OPERATOR } : undefined;
    } else if (next === ')') {
      depth -= 1;
      if (depth < 0) return { at, expected: OPERATOR };
      at += 1;
    } else {
      const end = next === '&' || next === '|' ? at + 1 : endOf(PHRASE, query, at);
      if (end === at) return { at, expected: OPERATOR };
      at = end;
      wantsOperand = true;
    }
  }
}

/** Returns the end of the match of a sticky pattern at a position; the position itself if it does not match. */
function endOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return at + (pattern.exec(text)?.[0].length ?? 0);
}

/** The end of a word, plain or in quotes. A backslash takes the next character along. */
function endOfWord(query: string, start: number): number | SearchFault {
  const isQuoted = query[start] === "'";
  const ends = isQuoted ? /'/ : /[ \t-\r!&|()<:]/;
  for (let at = isQuoted ? start + 1 : start; ; at += 1) {
    const next = query[at];
    if (next === '\\') {
      at += 1;
      if (at === query.length) return { at, expected: 'character after "\\\\"' };
    } else if (next === undefined) {
      return isQuoted ? { at, expected: '"\'"' } : at;
    } else if (ends.test(next)) {
      if (!isQuoted) return at;
      if (query[at + 1] !== "'") return at === start + 1 ? { at, expected: 'search word' } : at + 1;
      at += 1;
    }
  }
}
