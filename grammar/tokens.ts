import { createToken, Lexer } from 'chevrotain';
import type { CustomPatternMatcherFunc, IToken } from 'chevrotain';
import { endOfBareWord, endOfBrokenQuotes, endOfLuaBlock, endOfQuotes } from './scan.ts';

/** What is wrong with a word as text: its payload. `at` is the offset of what follows a closing quote. */
export type WordFault = { kind: 'unclosed' | 'too long' } | { kind: 'glued'; at: number };

/** nginx reads a word into a buffer of one page, and refuses the word that fills it. */
export const MAX_WORD_BYTES = 4096;

type Match = [string] & { payload?: WordFault };

const Space = createToken({
  name: 'Space',
  pattern: /[ \t\r\n]+/,
  group: Lexer.SKIPPED,
  line_breaks: true,
});

// Only where a word could start: elsewhere the word itself takes the `#`.
const Comment = createToken({
  name: 'Comment',
  pattern: /#[^\n]*/,
  group: 'comments',
  line_breaks: false,
});

/** `;` */
export const Semicolon = createToken({ name: 'Semicolon', pattern: ';' });
/** `{` */
export const BlockStart = createToken({ name: 'BlockStart', pattern: '{' });
/** `}` */
export const BlockEnd = createToken({ name: 'BlockEnd', pattern: '}' });

/** `{` and everything to its `}` after `…_by_lua_block`: Lua has its own quotes and comments. */
export const LuaBlock = createToken({
  name: 'LuaBlock',
  pattern: custom((text, offset, tokens) => {
    const isLua = tokens.slice(-2).some((token) => token.image.endsWith('_by_lua_block'));
    return isLua ? match(text, offset, endOfLuaBlock(text, offset)) : null;
  }),
  start_chars_hint: ['{'],
  line_breaks: true,
});

/** A bare or a quoted word; its payload is a `WordFault`, if it has one. */
export const WordToken = createToken({
  name: 'Word',
  pattern: custom((text, offset) => {
    const first = text[offset];
    if (first === '"' || first === "'") return matchQuotes(text, offset);
    const found = match(text, offset, endOfBareWord(text, offset));
    if (isTooLong(found[0])) found.payload = { kind: 'too long' };
    return found;
  }),
  start_chars_hint: wordStarts(),
  line_breaks: true,
});

/** Every token, in the order in which the lexer tries them. */
export const tokenTypes = [Space, Comment, Semicolon, LuaBlock, BlockStart, BlockEnd, WordToken];

/**
 * A quoted word without an end is cut at the end of its first line, so that the lines after it can be read. The same
 * goes for one over several lines with text glued to its closing quote: that quote was meant to open another word.
 */
function matchQuotes(text: string, start: number): Match {
  const limit = start + 1 + MAX_WORD_BYTES;
  const end = endOfQuotes(text, start, limit);
  if (isTooLong(text.slice(start + 1, end < 0 ? limit : end - 1)))
    return broken(text, start, { kind: 'too long' });
  if (end < 0) return broken(text, start, { kind: 'unclosed' });
  if (end === text.length || ' \t\r\n;{)'.includes(text[end]!)) return match(text, start, end);
  const found = match(text, start, end);
  const fault: WordFault = { kind: 'glued', at: end };
  return found[0].includes('\n') ? broken(text, start, fault) : Object.assign(found, { payload: fault });
}

function broken(text: string, start: number, payload: WordFault): Match {
  return Object.assign(match(text, start, endOfBrokenQuotes(text, start)), { payload });
}

function match(text: string, start: number, end: number): Match {
  return [text.slice(start, end)];
}

function isTooLong(raw: string): boolean {
  return raw.length * 3 >= MAX_WORD_BYTES && Buffer.byteLength(raw) >= MAX_WORD_BYTES;
}

function custom(pattern: (text: string, offset: number, tokens: IToken[]) => Match | null) {
  return pattern as unknown as CustomPatternMatcherFunc;
}

/** Every character but those of the other tokens; the lexer tells characters above 255 apart by groups of 255. */
function wordStarts(): number[] {
  const codes = Array.from({ length: 256 }, (_, code) => code);
  const groups = Array.from({ length: 257 }, (_, group) => Math.min((group + 1) * 255 + 1, 0xffff));
  return [...codes.filter((code) => !' \t\r\n;{}#'.includes(String.fromCharCode(code))), ...groups];
}
