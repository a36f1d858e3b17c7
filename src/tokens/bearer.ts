/** The bearer token of an `Authorization` header (RFC 6750, 2.1); `undefined` for any other scheme, whose case is ignored. */
export function bearerToken(authorization = ''): string | undefined {
  const found = /^bearer(?:[ \t]+(.*))?$/is.exec(authorization);
  return found ? (found[1] ?? '').trim() : undefined;
}
