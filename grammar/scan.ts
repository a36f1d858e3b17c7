const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const BLANK = 0x20;
const DOLLAR = 0x24;
const SEMICOLON = 0x3b;
const BACKSLASH = 0x5c;
const OPEN = 0x7b;

/**
 * The end of the unquoted word at `start`: at whitespace, `;` or `{`. A backslash hides the next character,
 * a `$` every `{` right after it, and `}` ends nothing (nginx ngx_conf_read_token).
 */
export function endOfBareWord(text: string, start: number): number {
  let variable = false;
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === OPEN && variable) continue;
    if (code <= BLANK && (code === BLANK || code === TAB || code === LF || code === CR)) return at;
    if (code === SEMICOLON || code === OPEN) return at;
    variable = code === DOLLAR;
    if (code === BACKSLASH) at++;
  }
  return text.length;
}

/** The offset after the closing quote of the quoted word at `start`; -1 when there is none before `limit`. */
export function endOfQuotes(text: string, start: number, limit: number): number {
  const quote = text.charCodeAt(start);
  const last = Math.min(limit, text.length);
  for (let at = start + 1; at < last; at++) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH) at++;
    else if (code === quote) return at + 1;
  }
  return -1;
}

/** Where the line of a quoted word that lacks its closing quote most likely ended the word: before `;` or `{`. */
export function endOfBrokenQuotes(text: string, start: number): number {
  const lineEnd = text.indexOf('\n', start);
  const line = text.slice(start + 1, lineEnd < 0 ? text.length : lineEnd);
  return start + 1 + line.trimEnd().replace(/[ \t]*[;{]$/, '').length;
}

/** The offset after the `}` that closes the `{` at `start` in Lua text, whose strings and comments hide braces. */
export function endOfLuaBlock(text: string, start: number): number {
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
