import { existsSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { packageRoot, releaseFile } from './installation.ts';

/**
 * Returns the words that run this program again in this directory: `gw` where it is installed, `npx gw` in its checkout,
 * and `npx -y -p FILE gw` where npx has fetched it. Outside of a checkout, `npx gw` may be the program of somebody else.
 */
export function commandWords(): string {
  const root = packageRoot();
  if (existsSync(releaseFile())) return fetchedBy(root) ?? 'gw';
  const isInside = !relative(root, process.cwd()).startsWith('..');
  return isInside ? 'npx gw' : join(root, 'bin/gw');
}

/** Returns the words for a program in a directory of npx, which says what it has been made for. */
function fetchedBy(root: string): string | undefined {
  const directories = root.split(sep);
  const at = directories.indexOf('_npx');
  if (at < 0) return undefined;
  const home = directories.slice(0, at + 2).join(sep);
  try {
    const { _npx: made } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as {
      readonly _npx?: { readonly packages?: readonly string[] };
    };
    const packages = (made?.packages ?? []).map((name) => `-p ${name}`);
    if (packages.length > 0) return `npx -y ${packages.join(' ')} gw`;
  } catch {
    // The program itself is there.
  }
  return join(home, 'node_modules/.bin/gw');
}
