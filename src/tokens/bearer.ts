/** The bearer token of an `Authorization` header (RFC 6750, 2.1); `undefined` for any other scheme, whose case is ignored. */
export function bearerToken(authorization = ''): string | undefined {
  // The usual form, without a regular expression.
  if (authorization.startsWith('Bearer ') && isVisible(authorization, 7) && isVisible(authorization, -1))
    return authorization.slice(7);
  const found = /^bearer(?:[ \t]+(.*))?$/is.exec(authorization);
  return found ? (found[1] ?? '').trim() : undefined;
}

/** True if the character at an index, from the end if it is negative, is neither missing nor a blank. */
function isVisible(text: string, index: number): boolean {
  return (text.at(index) ?? ' ') > ' ';
}
