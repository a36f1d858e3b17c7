import type { Exchange } from '../../../http/index.ts';
import { conditionFailed, conditionUnsupported } from '../fault/index.ts';
import { parseIfMatch } from './entity-tags.ts';
import { versionIn } from './row-version.ts';

/** Returns whether a request depends on the present state of its resource. */
export function hasCondition(x: Exchange): boolean {
  return x.header('if-match') !== undefined || x.header('if-none-match') !== undefined;
}

/** Returns whether a response has no body that would have to be made: a HEAD does not need one to compare tags. */
export function isBodyless(x: Exchange): boolean {
  return x.method === 'HEAD' && !hasCondition(x);
}

/** The condition of a write: its rows are there, have one of these versions, or the row is not there. */
export type Precondition =
  | { readonly kind: 'present' }
  | { readonly kind: 'match'; readonly versions: readonly string[] }
  | { readonly kind: 'absent' };

/**
 * The condition of a write. One that cannot be checked must not be ignored, so it is refused (RFC 9110, 13.1). Throws DBREST101,
 * DBREST103 and DBREST104.
 */
export function preconditionOf(x: Exchange): Precondition | undefined {
  const match = x.header('if-match');
  const noneMatch = x.header('if-none-match');
  if (match === undefined && noneMatch === undefined) return undefined;
  if (noneMatch !== undefined) {
    if (x.method !== 'PUT' || noneMatch.trim() !== '*') throw conditionUnsupported('If-None-Match');
    if (match !== undefined) throw conditionFailed('No row is both there and not there.');
    return { kind: 'absent' };
  }
  if (match === undefined || x.method === 'POST') throw conditionUnsupported('If-Match');
  const tags = parseIfMatch(match);
  return tags === '*' ? { kind: 'present' } : { kind: 'match', versions: tags.map(versionIn) };
}
