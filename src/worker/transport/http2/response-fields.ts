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

/**
 * A list of fields that inherits nothing, because a header may be called `constructor`. V8 reads objects of a class faster
 * than those of `Object.create(null)`.
 */
class Fields {
  [name: string]: string | number | string[];
}
Object.setPrototypeOf(Fields.prototype, null);
Reflect.deleteProperty(Fields.prototype, 'constructor');

/** Returns the fields of a response in nginx's order; `headers`: name, value, name, value … */
export function responseFields(common: CommonFields, headers?: readonly string[]): OutgoingHttpHeaders {
  const { status, serverToken, date, contentType, lengthBytes } = common;
  const fields = new Fields();
  fields[':status'] = status;
  if (serverToken !== '') fields['server'] = valueOf(serverToken);
  if (date !== '') fields['date'] = date;
  if (contentType !== '') fields['content-type'] = valueOf(contentType);
  if (lengthBytes !== undefined) fields['content-length'] = lengthBytes;
  if (headers) addAll(fields, headers);
  return fields;
}

/** Returns the fields of trailers, or of an interim response; `headers`: name, value, name, value … */
export function plainFields(headers: readonly string[], status?: number): OutgoingHttpHeaders {
  const fields = new Fields();
  if (status !== undefined) fields[':status'] = status;
  addAll(fields, headers);
  return fields;
}

/** A value with blanks around it is malformed (RFC 9113, 8.2.1). */
function valueOf(text: string): string {
  return byteText(text.trim());
}

function addAll(fields: Fields, headers: readonly string[]): void {
  for (let at = 0; at < headers.length; at += 2)
    add(fields, (headers[at] as string).toLowerCase(), headers[at + 1] as string);
}

function add(fields: Fields, name: string, text: string): void {
  // `te` is a field of requests.
  if (CONNECTION_FIELDS.has(name) || name === 'te') return;
  const value = valueOf(text);
  const known = fields[name];
  if (known === undefined) fields[name] = value;
  // Joined values have the same meaning (RFC 9110, 5.3).
  else if (SINGLE_FIELDS.has(name)) fields[name] = `${String(known)}, ${value}`;
  else if (Array.isArray(known)) known.push(value);
  else fields[name] = [String(known), value];
}
