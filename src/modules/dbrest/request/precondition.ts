import type { Exchange } from '../../../http/index.ts';
import { conditionFailed, conditionUnsupported, malformedIfMatch } from '../fault/index.ts';

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

/** More tags in one header are refused. */
const MOST_TAGS = 100;
/** An entity tag and the comma behind it; bytes above 0x7f may stand in it (RFC 9110, 8.8.3). Empty elements are allowed. */
const TAG = /[\t ]*(?:(W\/)?"([!#-~\x80-\uffff]*)"[\t ]*)?(?:,|$)/y;

/** The strong tags of an `If-Match` header, without their quotes, or `*`: weak ones never match. Throws DBREST103. */
export function parseIfMatch(header: string): '*' | readonly string[] {
  if (header.trim() === '*') return '*';
  const strong: string[] = [];
  let found = 0;
  TAG.lastIndex = 0;
  while (TAG.lastIndex < header.length) {
    const [, weak, opaque] = TAG.exec(header) ?? [];
    // A failed match sets the index back.
    if (TAG.lastIndex === 0) throw malformedIfMatch();
    if (opaque === undefined) continue;
    found += 1;
    if (weak === undefined) strong.push(opaque);
  }
  if (found === 0 || found > MOST_TAGS) throw malformedIfMatch();
  return strong;
}

/** The digest of a representation behind the version of its row. */
const DIGEST = /-[0-9a-f]{40}$/;
/** Longer versions are not put into a tag. */
const LONGEST = 256;

/** The version of a row as part of an entity tag; `undefined` if it is too long for a header. */
export function taggedVersion(version: string): string | undefined {
  const encoded = version.length > LONGEST ? version : encodeURIComponent(version);
  return encoded.length > LONGEST ? undefined : encoded;
}

/** The version that an entity tag names: all of it, or what precedes the digest. */
export function versionIn(tag: string): string {
  const encoded = tag.replace(DIGEST, '');
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded;
  }
}
