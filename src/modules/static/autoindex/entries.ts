import { lstatSync, readdirSync, statSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { factsOf } from '../files.ts';
import type { FileFacts } from '../files.ts';

/** One name of a directory. Texts are bytes here (latin1): a file name need not be UTF-8. */
export interface Entry extends FileFacts {
  readonly name: string;
}

/** What a listing shows: directories first, then by the bytes of the name; nothing hidden. Throws what the system says. */
export function readEntries(directory: string): readonly Entry[] {
  const names = readdirSync(directory, { encoding: 'latin1' }).filter((name) => !name.startsWith('.'));
  const base = Buffer.from(`${directory}/`);
  const entries: Entry[] = [];
  for (const name of names) {
    const stats = lookAt(Buffer.concat([base, Buffer.from(name, 'latin1')]));
    if (stats) entries.push({ name, ...factsOf(stats) });
  }
  return entries.sort(compare);
}

/** What a link leads to, or the link itself where that is nothing; what has gone meanwhile or may not be looked at is left out. */
function lookAt(path: Buffer): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false }) ?? lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ELOOP') return lstatSync(path, { throwIfNoEntry: false });
    if (code === 'EACCES') return undefined;
    throw error;
  }
}

function compare(one: Entry, other: Entry): number {
  const oneFirst = Number(other.kind === 'directory') - Number(one.kind === 'directory');
  if (oneFirst !== 0) return oneFirst;
  return one.name < other.name ? -1 : Number(one.name > other.name);
}

/** UTF-8 text as the bytes that listings are made of. */
export function bytesOf(text: string): string {
  return Buffer.from(text).toString('latin1');
}
