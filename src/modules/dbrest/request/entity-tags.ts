import { malformedIfMatch } from '../fault/index.ts';

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
