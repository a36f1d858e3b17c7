/** Fields of which Node.js sends one only: with several, `node:http2` throws. */
export const SINGLE_FIELDS: ReadonlySet<string> = new Set(
  `access-control-allow-credentials access-control-max-age access-control-request-method age authorization content-encoding
  content-language content-length content-location content-md5 content-range content-type date dnt etag expires from host
  if-match if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards
  proxy-authorization range referer retry-after tk upgrade-insecure-requests user-agent x-content-type-options`.split(
    /\s+/,
  ),
);

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

/** Gives a value as Node.js takes it: it sends the low byte of each character. */
export function byteText(value: string): string {
  return BEYOND_ASCII.test(value) ? Buffer.from(value).toString('latin1') : value;
}
