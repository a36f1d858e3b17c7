import type { DsnPair } from './target.ts';
import { DsnError } from './target.ts';

const SPACE = /\s/;

/**
 * `host=a port=5432 password='it''s'` in pairs: blanks around `=`, single quotes, backslash escapes as in libpq
 * (PostgreSQL documentation, 34.1.1.1). Throws a `DsnError`.
 */
export function scanKeywords(text: string): DsnPair[] {
  const pairs: DsnPair[] = [];
  let at = skipBlanks(text, 0);
  while (at < text.length) {
    const start = at;
    while (at < text.length && text[at] !== '=' && !SPACE.test(text[at] as string)) at += 1;
    const keyword = text.slice(start, at);
    const end = at;
    at = skipBlanks(text, at);
    if (keyword === '') throw new DsnError('no keyword before "="', { start, end: start + 1 });
    if (text[at] !== '=')
      throw new DsnError('no "=" after a keyword', { start, end }, 'expected keyword=value');
    const value = scanValue(text, skipBlanks(text, at + 1));
    pairs.push({ keyword, value: value.text, start, end: value.end });
    at = skipBlanks(text, value.end);
  }
  return pairs;
}

function skipBlanks(text: string, from: number): number {
  let at = from;
  while (at < text.length && SPACE.test(text[at] as string)) at += 1;
  return at;
}

function scanValue(text: string, from: number): { text: string; end: number } {
  const quoted = text[from] === "'";
  let at = quoted ? from + 1 : from;
  let value = '';
  while (at < text.length && (quoted ? text[at] !== "'" : !SPACE.test(text[at] as string))) {
    if (text[at] === '\\' && at + 1 < text.length) at += 1;
    value += text[at];
    at += 1;
  }
  if (!quoted) return { text: value, end: at };
  if (at === text.length) throw new DsnError('no closing quote', { start: from, end: at });
  return { text: value, end: at + 1 };
}
