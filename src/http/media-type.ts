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

/** An answer as far as its type is concerned. */
export interface TypedAnswer {
  readonly responseType: string;
  /** The type as the configuration has it: nginx takes a charset in there for a part of its name. */
  readonly configuredType: string;
}

/** Whether the type of an answer is one of some media types; `*` stands for all of them, and for none at all. */
export function mediaTypeTest(types: readonly string[]): (answer: TypedAnswer) => boolean {
  if (types.includes('*')) return () => true;
  const names = new Set(types);
  return ({ responseType, configuredType }) =>
    names.has(responseType === configuredType ? responseType.toLowerCase() : mediaTypeOf(responseType));
}
