import { printableWord, type Word } from './tree.ts';

/** Returns a part of a word's value for a message: the source text if it comes from `${env:…}` or `${file:…}`. */
export function shown(word: Word | undefined, part: string): string {
  return word?.secret ? printableWord(word) : part;
}

/** Names for a message: `"a", "b" and 3 more`. */
export function namesText(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).map((name) => `"${name}"`);
  const rest = names.length - shown.length;
  if (rest > 0) return `${shown.join(', ')} and ${rest} more`;
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`;
}

const MAX_NAMES = 4;
