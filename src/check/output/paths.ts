import { relative, resolve, sep } from 'node:path';
import { pathToFileURL } from 'node:url';

/** A name of a file from a directory on, with slashes; as it is where it lies outside of it. */
export function relativeTo(root: string, name: string): string {
  const path = relative(root, resolve(root, name));
  return isOutside(path) ? name : path.split(sep).join('/');
}

/** A file as a URI: relative below the root, else absolute. */
export function uriOf(root: string, name: string): { readonly uri: string; readonly isRelative: boolean } {
  const absolute = resolve(root, name);
  const path = relative(root, absolute);
  if (isOutside(path)) return { uri: pathToFileURL(absolute).href, isRelative: false };
  return { uri: path.split(sep).map(encodeURIComponent).join('/'), isRelative: true };
}

/** The URI of a directory, with its slash. */
export function directoryUri(root: string): string {
  return pathToFileURL(root.endsWith(sep) ? root : root + sep).href;
}

function isOutside(path: string): boolean {
  return path === '' || path === '..' || path.startsWith(`..${sep}`);
}
