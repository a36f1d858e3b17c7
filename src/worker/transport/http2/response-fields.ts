import type { OutgoingHttpHeaders } from 'node:http2';
import { byteText, CONNECTION_FIELDS, SINGLE_FIELDS } from '../../../http/index.ts';

/** The fields that every response has. */
interface CommonFields {
  readonly status: number;
  /** '' sends no `Server`. */
  readonly serverToken: string;
  /** '' sends no `Date`. */
  readonly date: string;
  readonly contentType: string;
  /** `undefined` sends no `Content-Length`. */
  readonly lengthBytes: number | undefined;
}

/** Returns the fields of a response in nginx's order; `headers`: name, value, name, value … */
export function responseFields(common: CommonFields, headers: readonly string[] = []): OutgoingHttpHeaders {
  const { status, serverToken, date, contentType, lengthBytes } = common;
  const fields = statusField(status);
  if (serverToken !== '') add(fields, 'server', serverToken);
  if (date !== '') fields['date'] = date;
  if (contentType !== '') add(fields, 'content-type', contentType);
  if (lengthBytes !== undefined) fields['content-length'] = lengthBytes;
  return addAll(fields, headers);
}

/** Returns the fields of trailers, or of an interim response; `headers`: name, value, name, value … */
export function plainFields(headers: readonly string[], status?: number): OutgoingHttpHeaders {
  return addAll(statusField(status), headers);
}

/** The object has no prototype, because a header may be called `constructor`. */
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
  // `te` is a field of requests.
  if (CONNECTION_FIELDS.has(name) || name === 'te') return;
  // A value with blanks around it is malformed (RFC 9113, 8.2.1).
  const value = byteText(text.trim());
  const known = fields[name];
  if (known === undefined) fields[name] = value;
  // Joined values have the same meaning (RFC 9110, 5.3).
  else if (SINGLE_FIELDS.has(name)) fields[name] = `${String(known)}, ${value}`;
  else if (Array.isArray(known)) known.push(value);
  else fields[name] = [String(known), value];
}
