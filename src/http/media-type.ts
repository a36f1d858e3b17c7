const CHARSET = /;\s*charset=/i;

/** The media type of a `Content-Type` as nginx compares it: in lower case, without the charset and what follows. */
export function mediaTypeOf(contentType: string): string {
  const charset = contentType.includes(';') ? contentType.search(CHARSET) : -1;
  return (charset < 0 ? contentType : contentType.slice(0, charset)).trim().toLowerCase();
}

/** The charset that a `Content-Type` names, quotes removed; '' without one. */
export function charsetOf(contentType: string): string {
  const at = contentType.includes(';') ? contentType.search(CHARSET) : -1;
  if (at < 0) return '';
  const value = contentType.slice(contentType.indexOf('=', at) + 1);
  const [, quoted, plain] = /^(?:"([^"]*)"|([^\s;]*))/.exec(value) ?? [];
  return quoted ?? plain ?? '';
}

/** Whether a `Content-Type` is one of some media types; `*` stands for all of them, and for none at all. */
export function mediaTypeTest(types: readonly string[]): (contentType: string) => boolean {
  if (types.includes('*')) return () => true;
  const names = new Set(types);
  return (contentType) => names.has(mediaTypeOf(contentType));
}
