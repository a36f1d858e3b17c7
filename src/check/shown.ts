import { printableWord } from '../../grammar/index.ts';
import type { Word } from '../../grammar/index.ts';

/** What a message may say of a word: a part of its value, or what the file says where the value comes from elsewhere. */
export function shown(word: Word | undefined, part: string): string {
  return word?.secret ? printableWord(word) : part;
}
