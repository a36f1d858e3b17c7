import { type StateHolder, stateKey } from './request.ts';

/** Value: the last type that `types` or `default_type` gave and that names a charset. */
export const CONFIGURED_TYPE = stateKey<string>('configured type');
/**
 * Value: the type of a response that is replaced by another one. The replacement has this type, whatever its extension.
 */
export const KEPT_TYPE = stateKey<string>('kept type');
/** A response of which gw sends ranges. */
interface RangedResponse {
  readonly type: string;
  readonly sizeBytes: number;
  /** The positions in the body of the texts between several ranges; absent if there is only one range. */
  readonly texts?: readonly { readonly from: number; readonly to: number }[];
}

export const RANGED = stateKey<RangedResponse>('ranged response');
/** Value: the charset that an upstream asked for. */
export const CHARSET_OVERRIDE = stateKey<string>('charset override');

const CHARSET = /;\s*charset=/i;

/**
 * Returns the media type of a `Content-Type` as nginx compares it: in lower case, without the charset and anything
 * after it.
 */
function mediaTypeOf(contentType: string): string {
  const charset = contentType.includes(';') ? contentType.search(CHARSET) : -1;
  return (charset < 0 ? contentType : contentType.slice(0, charset)).trim().toLowerCase();
}

/** Returns the charset of a `Content-Type` without quotes; '' if there is none. */
export function charsetOf(contentType: string): string {
  const at = contentType.includes(';') ? contentType.search(CHARSET) : -1;
  if (at < 0) return '';
  const value = contentType.slice(contentType.indexOf('=', at) + 1);
  const [, quoted, plain] = /^(?:"([^"]*)"|([^\s;]*))/.exec(value) ?? [];
  return quoted ?? plain ?? '';
}

/** The parts of an exchange that a type test needs. */
interface TypedResponse extends StateHolder {
  readonly response: { readonly type: string };
}

/**
 * Compiles a test for a list of media types: it tells whether the response's type (or the given `type`) is in the list.
 * `*` matches all, including no type. As in nginx, a charset in a configured type is part of the name.
 */
export function mediaTypeTest(types: readonly string[]): (x: TypedResponse, type?: string) => boolean {
  if (types.includes('*')) return () => true;
  const names = new Set(types);
  return (x, type = x.response.type) =>
    names.has(type === x.state(CONFIGURED_TYPE) ? type.toLowerCase() : mediaTypeOf(type));
}

/** Tells whether a response is a stream of server-sent events, which ends when one side has had enough. */
export function isEventStream(contentType: string): boolean {
  return /^text\/event-stream\b/i.test(contentType);
}
