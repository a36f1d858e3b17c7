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
