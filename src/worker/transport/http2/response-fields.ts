import type { OutgoingHttpHeaders } from 'node:http2';

/** The fields that every response has. */
interface CommonFields {
  readonly status: number;
  /** '' sends no `Server`. */
  readonly serverToken: string;
  readonly date: string;
  readonly contentType: string;
  /** `undefined` sends no `Content-Length`. */
  readonly lengthBytes: number | undefined;
}

/** Fields about a connection of HTTP/1; in HTTP/2 a response with one of them is malformed (RFC 9113, 8.2.2). */
const OF_CONNECTIONS: ReadonlySet<string> = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
]);

/** Fields that Node.js sends once at most. Several of them are joined, which means the same (RFC 9110, 5.3). */
const ONCE: ReadonlySet<string> = new Set(
  `access-control-allow-credentials access-control-max-age access-control-request-method age authorization content-encoding
  content-language content-length content-location content-md5 content-range content-type date dnt etag expires from host
  if-match if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards
  proxy-authorization range referer retry-after tk upgrade-insecure-requests user-agent x-content-type-options`.split(
    /\s+/,
  ),
);

const BEYOND_ASCII = /[^\0-\x7f]/;

/** Returns the fields of a response in nginx's order; `headers`: name, value, name, value … */
export function responseFields(common: CommonFields, headers: readonly string[] = []): OutgoingHttpHeaders {
  const { status, serverToken, date, contentType, lengthBytes } = common;
  const fields = statusField(status);
  if (serverToken !== '' && !has(headers, 'server')) add(fields, 'server', serverToken);
  if (!has(headers, 'date')) fields['date'] = date;
  if (contentType !== '') add(fields, 'content-type', contentType);
  if (lengthBytes !== undefined) fields['content-length'] = lengthBytes;
  return addAll(fields, headers);
}

/** Returns the fields of trailers, or of an interim response; `headers`: name, value, name, value … */
export function plainFields(headers: readonly string[], status?: number): OutgoingHttpHeaders {
  return addAll(statusField(status), headers);
}

/** Without a prototype: a header may be called `constructor`. */
function statusField(status: number | undefined): OutgoingHttpHeaders {
  const fields = Object.create(null) as OutgoingHttpHeaders;
  if (status !== undefined) fields[':status'] = status;
  return fields;
}

function addAll(fields: OutgoingHttpHeaders, headers: readonly string[]): OutgoingHttpHeaders {
  for (let at = 0; at < headers.length; at += 2)
    add(fields, (headers[at] as string).toLowerCase(), headers[at + 1] as string);
  return fields;
}

function add(fields: OutgoingHttpHeaders, name: string, text: string): void {
  if (OF_CONNECTIONS.has(name)) return;
  // A value with blanks around it is malformed (RFC 9113, 8.2.1).
  const trimmed = text.trim();
  // Node.js sends the low byte of each character.
  const value = BEYOND_ASCII.test(trimmed) ? Buffer.from(trimmed).toString('latin1') : trimmed;
  const known = fields[name];
  if (known === undefined) fields[name] = value;
  else if (ONCE.has(name)) fields[name] = `${String(known)}, ${value}`;
  else if (Array.isArray(known)) known.push(value);
  else fields[name] = [String(known), value];
}

function has(headers: readonly string[], name: string): boolean {
  return headers.some((text, index) => index % 2 === 0 && text.toLowerCase() === name);
}
