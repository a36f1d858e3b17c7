const CAPITALS = /[A-Z]+/g;

/** Lower case as nginx sees it: ASCII letters only. */
export function lowerCase(text: string): string {
  return text.replace(CAPITALS, (letters) => letters.toLowerCase());
}
