import { readdirSync, readFileSync, statSync } from 'node:fs';
import type { Dirent } from 'node:fs';
import { dirname, join } from 'node:path';
import { looksWhole } from './guess.ts';

/** An editor may have the root of a disk open: the search for main configurations gives up early. */
const MAX_DEPTH = 6;
const MAX_DIRECTORIES = 2_000;
const MAX_FILES = 500;
const MAX_FILE_BYTES = 4 * 1024 * 1024;
/** How far above a file its main configuration may lie: `sites-enabled/`, `conf.d/x/`. */
const MAX_ABOVE = 3;

const IGNORED = /^(?:\..*|node_modules|dist|vendor|proc|sys)$/;

/** Whether a file lies where nobody keeps configurations: what changes there changes nothing. */
export function isIgnored(path: string): boolean {
  return /[\\/](?:node_modules|\.git)[\\/]/.test(path);
}

/** The files below a folder that look like main configurations. */
export function configsBelow(folder: string): readonly string[] {
  const found: string[] = [];
  let waiting = [folder];
  let visited = 0;
  for (let depth = 0; depth <= MAX_DEPTH && waiting.length > 0; depth++) {
    const next: string[] = [];
    for (const directory of waiting) {
      if (++visited > MAX_DIRECTORIES || found.length >= MAX_FILES) return found;
      for (const entry of entriesOf(directory)) {
        if (entry.isDirectory() && !IGNORED.test(entry.name)) next.push(join(directory, entry.name));
      }
      found.push(...configsIn(directory));
    }
    waiting = next;
  }
  return found;
}

/** The files in the directories above a file that look like main configurations. */
export function configsAbove(path: string): readonly string[] {
  const found: string[] = [];
  let directory = dirname(path);
  for (let steps = 0; steps <= MAX_ABOVE && path.startsWith('/') && directory !== '/'; steps++) {
    found.push(...configsIn(directory));
    directory = dirname(directory);
  }
  return found;
}

function configsIn(directory: string): readonly string[] {
  return entriesOf(directory)
    .filter((entry) => !entry.isDirectory() && entry.name.endsWith('.conf'))
    .slice(0, MAX_FILES)
    .map(({ name }) => join(directory, name))
    .filter(isWhole);
}

function isWhole(path: string): boolean {
  try {
    const stats = statSync(path);
    return stats.isFile() && stats.size <= MAX_FILE_BYTES && looksWhole(readFileSync(path, 'utf8'));
  } catch {
    return false;
  }
}

function entriesOf(directory: string): readonly Dirent[] {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch {
    return [];
  }
}
