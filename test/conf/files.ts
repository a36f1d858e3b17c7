import { readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** The root of the repository. */
export const ROOT = resolve(import.meta.dirname, '../..');

/** Names of the configurations in `conf/examples`. */
export const EXAMPLES: readonly string[] = readdirSync(join(ROOT, 'conf/examples'))
  .filter((name) => name.endsWith('.conf'))
  .toSorted();

/** A text of the repository. */
export function textOf(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** The content of `http { … }` of a whole configuration, on another port. */
export function httpOf(conf: string, port: number): string {
  const inside = /^http \{\n([^]*)^\}\s*$/m.exec(conf)?.[1];
  if (inside === undefined) throw new Error('the configuration has no http block at the start of a line');
  // The tests write it elsewhere.
  return inside
    .replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`)
    .replaceAll('include ../', `include ${join(ROOT, 'conf')}/`);
}
