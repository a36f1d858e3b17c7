import { createToken, Lexer } from 'chevrotain';

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const BLANK = 0x20;
const DOLLAR = 0x24;
const SEMICOLON = 0x3b;
const BACKSLASH = 0x5c;
const OPEN = 0x7b;

/** A number of repetitions in a regular expression. No block begins like this. */
const REPETITIONS = /\{\d+(?:,\d*)?\}/y;

/**
 * Returns the end of the unquoted word at `start`: whitespace, `;` or `{`. A backslash escapes the next character, and
 * a `$` each `{` that follows it; `}` does not end a word (nginx ngx_conf_read_token). `brace` is the offset at which
 * nginx would end an unquoted regular expression with repetitions; -1 without one.
 */
function endOfBareWord(text: string, start: number): { readonly end: number; readonly brace: number } {
  let variable = false;
  let brace = -1;
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === OPEN && variable) continue;
    if (code <= BLANK && (code === BLANK || code === TAB || code === LF || code === CR))
      return { end: at, brace };
    if (code === SEMICOLON) return { end: at, brace };
    if (code === OPEN) {
      REPETITIONS.lastIndex = at;
      if (!REPETITIONS.test(text)) return { end: at, brace };
      if (brace < 0) brace = at;
      at = REPETITIONS.lastIndex - 1;
    }
    variable = code === DOLLAR;
    if (code === BACKSLASH) at++;
  }
  return { end: text.length, brace };
}

/** Returns the offset after the closing quote of the quoted word at `start`; -1 without one before `limit`. */
function endOfQuotes(text: string, start: number, limit: number): number {
  const quote = text.charCodeAt(start);
  const last = Math.min(limit, text.length);
  for (let at = start + 1; at < last; at++) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH) at++;
    else if (code === quote) return at + 1;
  }
  return -1;
}

/** Returns the most likely end of a quoted word without a closing quote: before `;` or `{` on its first line. */
function endOfBrokenQuotes(text: string, start: number): number {
  const lineEnd = text.indexOf('\n', start);
  const line = text.slice(start + 1, lineEnd < 0 ? text.length : lineEnd);
  return start + 1 + line.trimEnd().replace(/[ \t]*[;{]$/, '').length;
}

/** Returns the offset after the `}` that closes the `{` at `start` in Lua, ignoring strings and comments. */
function endOfLuaBlock(text: string, start: number): number {
  const piece = /--\[(=*)\[|--[^\n]*|\[(=*)\[|"(?:\\[^]|[^"\\\n])*"|'(?:\\[^]|[^'\\\n])*'|[{}]/g;
  piece.lastIndex = start;
  let depth = 0;
  for (let match = piece.exec(text); match; match = piece.exec(text)) {
    const level = match[1] ?? match[2];
    if (level !== undefined) {
      const end = text.indexOf(`]${level}]`, piece.lastIndex);
      if (end < 0) return text.length;
      piece.lastIndex = end + level.length + 2;
    } else if (match[0] === '{') depth++;
    else if (match[0] === '}' && --depth === 0) return piece.lastIndex;
  }
  return text.length;
}

/** The fault of a word token. `at` is the offset of the text after a closing quote, or of a `{` that would begin a block. */
export type WordFault = { kind: 'unclosed' | 'too long' } | { kind: 'glued' | 'brace'; at: number };

/** nginx reads a word into a buffer of one page and refuses a word that fills it. */
const MAX_WORD_BYTES = 4096;

type Match = [string] & { payload?: WordFault };

const Space = createToken({
  name: 'Space',
  pattern: /[ \t\r\n]+/,
  group: Lexer.SKIPPED,
  line_breaks: true,
});

// Only at the start of a word: elsewhere the `#` is part of the word.
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

/** The block of a `…_by_lua_block` directive as one token, because Lua has its own quotes and comments. */
export const LuaBlock = createToken({
  name: 'LuaBlock',
  pattern: (text, offset, tokens) => {
    const isLua = tokens.slice(-2).some((token) => token.image.endsWith('_by_lua_block'));
    return isLua ? match(text, offset, endOfLuaBlock(text, offset)) : null;
  },
  start_chars_hint: ['{'],
  line_breaks: true,
});

/** A bare or quoted word; its payload is a `WordFault` if there is one. */
export const WordToken = createToken({
  name: 'Word',
  pattern: (text, offset) => {
    const first = text[offset];
    if (first === '"' || first === "'") return matchQuotes(text, offset);
    const { end, brace } = endOfBareWord(text, offset);
    const found = match(text, offset, end);
    if (brace >= 0) found.payload = { kind: 'brace', at: brace };
    if (isTooLong(found[0])) found.payload = { kind: 'too long' };
    return found;
  },
  start_chars_hint: wordStarts(),
  line_breaks: true,
});

/** Every token, in the order in which the lexer tries them. */
export const tokenTypes = [Space, Comment, Semicolon, LuaBlock, BlockStart, BlockEnd, WordToken];

/**
 * Matches a quoted word. A word without an end is cut at the end of its first line, so that the following lines can be
 * read. A word over several lines with text after its closing quote is cut as well: that quote was meant to open
 * another word.
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

/** Returns every character that can start a word. The lexer groups characters above 255 by 255. */
function wordStarts(): number[] {
  const codes = Array.from({ length: 256 }, (_, code) => code);
  const groups = Array.from({ length: 257 }, (_, group) => Math.min((group + 1) * 255 + 1, 0xffff));
  return [...codes.filter((code) => !' \t\r\n;{}#'.includes(String.fromCharCode(code))), ...groups];
}
