/** `name = value` in two; blanks around the first `=` do not count. */
export function pairOf(text: string): [name: string, value: string] {
  const at = text.indexOf('=');
  return at < 0 ? [text, ''] : [text.slice(0, at).trimEnd(), text.slice(at + 1).trimStart()];
}
