const TWO_DIGITS = /^[\da-f]{2}$/i;

/**
 * What nginx sends as `Location` of a `rewrite`: escapes of printable ASCII above `%` are undone, others stay, and so does
 * everything behind the first `?`. A `%` that begins no escape is left out (ngx_unescape_uri, NGX_UNESCAPE_REDIRECT).
 */
export function unescapeRedirect(target: string): string {
  if (!target.includes('%')) return target;
  let unescaped = '';
  for (let at = 0; at < target.length; at++) {
    const character = target.charAt(at);
    if (character === '?') return unescaped + target.slice(at);
    if (character !== '%') {
      unescaped += character;
      continue;
    }
    const digits = target.slice(at + 1, at + 3);
    if (!/^[\da-f]/i.test(digits)) continue;
    at += 2;
    if (!TWO_DIGITS.test(digits)) continue;
    const decoded = String.fromCharCode(Number.parseInt(digits, 16));
    if (decoded === '?') return `${unescaped}?${target.slice(at + 1)}`;
    unescaped += decoded > '%' && decoded < '\x7f' ? decoded : `%${digits}`;
  }
  return unescaped;
}
