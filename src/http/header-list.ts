/** Headers in their order, as a flat list: name, value, name, value … */
type HeaderList = readonly string[];

/** Returns the first value of a header; names are compared without case. */
export function firstOf(headers: HeaderList | undefined, name: string): string | undefined {
  if (!headers) return undefined;
  for (let index = 0; index < headers.length; index += 2) {
    if (isSameName(headers[index] as string, name)) return headers[index + 1];
  }
  return undefined;
}

/** Returns all values of a header, joined with commas. */
export function joinedOf(headers: HeaderList | undefined, name: string): string | undefined {
  let joined: string | undefined;
  for (let index = 0; headers && index < headers.length; index += 2) {
    if (!isSameName(headers[index] as string, name)) continue;
    const value = headers[index + 1] as string;
    joined = joined === undefined ? value : `${joined}, ${value}`;
  }
  return joined;
}

/** Removes all headers with this name. */
export function removeAll(headers: string[] | undefined, name: string): void {
  for (let index = (headers?.length ?? 0) - 2; headers && index >= 0; index -= 2) {
    if (isSameName(headers[index] as string, name)) headers.splice(index, 2);
  }
}

/**
 * Returns a request header by its lower-case name. Repeated headers are joined (RFC 9110, 5.3). Access decisions must
 * use this function: `X_A` is another header than `X-A`, and a proxy in front may pass it on unchanged.
 */
export function requestHeaderOf(headers: HeaderList, name: string): string | undefined {
  let joined: string | undefined;
  for (let index = 0; index < headers.length; index += 2) {
    if (headers[index] !== name) continue;
    const value = headers[index + 1] as string;
    joined = joined === undefined ? value : `${joined}${name === 'cookie' ? '; ' : ', '}${value}`;
  }
  return joined;
}

/** Returns a request header for a variable: `X_A` counts as `X-A` (nginx ngx_http_variable_unknown_header). */
export function headerVariableOf(headers: HeaderList, name: string): string | undefined {
  for (let index = 0; index < headers.length; index += 2)
    if ((headers[index] as string).includes('_')) return requestHeaderOf(withoutUnderscores(headers), name);
  return requestHeaderOf(headers, name);
}

function withoutUnderscores(headers: HeaderList): HeaderList {
  return headers.map((text, index) => (index % 2 === 0 ? text.replaceAll('_', '-') : text));
}

function isSameName(one: string, other: string): boolean {
  return one.length === other.length && one.toLowerCase() === other.toLowerCase();
}

/** Fields of which Node.js sends one only: with several, `node:http2` throws. */
export const SINGLE_FIELDS: ReadonlySet<string> = new Set(
  `access-control-allow-credentials access-control-max-age access-control-request-method age authorization content-encoding
  content-language content-length content-location content-md5 content-range content-type date dnt etag expires from host
  if-match if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards
  proxy-authorization range referer retry-after tk upgrade-insecure-requests user-agent x-content-type-options`.split(
    /\s+/,
  ),
);

/**
 * The bytes of a head that Node.js sends over HTTP/2; its own limit would be 64 KB. nginx has none. Memory is taken for
 * heads that are sent, whatever the limit.
 */
export const MOST_SENT_HEAD_BYTES = 16_777_216;

/** Fields about a connection of HTTP/1: in HTTP/2 they make a message malformed (RFC 9113, 8.2.2). */
export const CONNECTION_FIELDS: ReadonlySet<string> = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]);

const BEYOND_ASCII = /[^\0-\x7f]/;

/** Returns a value in the form that Node.js needs: it sends the low byte of each character. */
export function byteText(value: string): string {
  return BEYOND_ASCII.test(value) ? Buffer.from(value).toString('latin1') : value;
}

/** Escapes a text for a quoted string (RFC 9110, 5.6.4). */
export function quotable(text: string): string {
  return text.replace(/["\\]/g, '\\$&');
}
