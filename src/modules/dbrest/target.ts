import type { LocationFacts } from '../../contract/index.ts';
import { invalidPath, noRoot, notYet } from './fault/index.ts';

/**
 * The table that a path names: below a prefix location exactly one segment, in any other location the last one.
 * Throws a `DbrestFault`.
 */
export function tableResolver({ kind, path }: LocationFacts): (uri: string) => string {
  if (kind !== 'prefix') return (uri) => tableOf(uri.slice(uri.lastIndexOf('/') + 1));
  return (uri) => tableOf(uri.slice(path.length).replace(/^\//, ''));
}

function tableOf(rest: string): string {
  if (rest === '') throw noRoot();
  if (/^rpc\/[^/]+$/.test(rest)) throw notYet('Functions are');
  if (rest.includes('/')) throw invalidPath();
  return rest;
}
