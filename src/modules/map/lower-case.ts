const CAPITAL = /[A-Z]/;
const CAPITALS = /[A-Z]+/g;

/** Lower case as nginx sees it: ASCII letters only. */
export function lowerCase(text: string): string {
  // Nearly every text that is looked up is in lower case already, and looking costs a quarter of replacing.
  return CAPITAL.test(text) ? text.replace(CAPITALS, (letters) => letters.toLowerCase()) : text;
}
