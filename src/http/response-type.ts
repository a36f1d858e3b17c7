import { type StateHolder, stateKey } from './request-state.ts';

/** Value: the last type that came from `types` or `default_type` and names a charset. */
export const CONFIGURED_TYPE = stateKey<string>('configured type');
/** Value: the type of a response in whose place another is served; that has it too, where it would take one by its name. */
export const KEPT_TYPE = stateKey<string>('kept type');
/** Value: the type of what a `multipart/byteranges` response is parts of. */
export const PARTS_TYPE = stateKey<string>('type of the parts');
/** Value: what an upstream wants the charset of the response to be. */
export const CHARSET_OVERRIDE = stateKey<string>('charset override');

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

/** A response as far as its type is concerned. */
interface TypedResponse extends StateHolder {
  readonly response: { readonly type: string };
}

/**
 * Whether the type of a response, or another `type` that it stands for, is one of some media types; `*` stands for all of
 * them, and for none at all. nginx takes a charset in a configured type for a part of its name.
 */
export function mediaTypeTest(types: readonly string[]): (x: TypedResponse, type?: string) => boolean {
  if (types.includes('*')) return () => true;
  const names = new Set(types);
  return (x, type = x.response.type) =>
    names.has(type === x.state(CONFIGURED_TYPE) ? type.toLowerCase() : mediaTypeOf(type));
}
