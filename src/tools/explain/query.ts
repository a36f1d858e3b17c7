import { printable } from '../../../grammar/index.ts';
import type { PortHandler } from '../../compile/index.ts';
import { isValidQuery, methodRefusal, parseHost, splitTarget } from '../../http/index.ts';
import { Framing } from '../../http1/index.ts';

/** A request to explain. */
export interface ExplainQuery {
  readonly method: string;
  /** `http://host:port/path?query`, `http://unix:/path:/uri`, or a path alone. */
  readonly url: string;
  /** In the order of sending. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Address of the client. */
  readonly from: string;
  /** True: databases may be opened to read their schemas. */
  readonly live: boolean;
  readonly body?: string;
}

/** The destination in the URL of a query. */
export interface Destination {
  readonly scheme: 'http' | 'https';
  /** Absent if the URL is a path alone. */
  readonly place?: { readonly host: string; readonly port: number } | { readonly socket: string };
}

/** A query as an engine would have read the request. */
export interface ReadQuery {
  readonly destination: Destination;
  readonly method: string;
  /** The target as on the request line. */
  readonly requestUri: string;
  readonly path: string;
  readonly args: string;
  /** Lower case, without port; '' for none. */
  readonly host: string;
  readonly hostHeader: string | undefined;
  /** Name, value, name, value …, names in lower case. */
  readonly headers: readonly string[];
  readonly contentLength: number;
  readonly body: Buffer;
  readonly from: string;
  /** The refusal, if an engine would refuse the request before a server sees it. */
  readonly refusal?: { readonly status: number; readonly why: string };
}

const METHOD = /^[!#$%&'*+.^_`|~\w-]+$/;
const TARGET = /^(?:(https?):\/\/(?:unix:([^:]+):?|([^/?#]*)))?(.*)$/i;
const DEFAULT_PORTS = { http: 80, https: 443 } as const;

/** Reads a query. A string gives the reason if it is invalid. */
export function readQuery({ method, url, headers, from, body = '' }: ExplainQuery): ReadQuery | string {
  if (!METHOD.test(method)) return `invalid method "${printable(method)}"`;
  const [, given = 'http', socket, authority, target = ''] = TARGET.exec(url) ?? [];
  if (!TARGET.test(url) || (authority === undefined && socket === undefined && !target.startsWith('/')))
    return `invalid URL "${printable(url)}"`;
  const scheme = given.toLowerCase() as 'http' | 'https';
  const place = placeOf(scheme, authority, socket);
  if (typeof place === 'string') return place;
  const lowered = headers.map(([name, value]) => [name.toLowerCase(), value.trim()] as const);
  const hostHeader =
    lowered.find(([name]) => name === 'host')?.[1] ??
    (socket === undefined ? (authority ?? 'localhost') : 'localhost');
  const all = lowered.filter(([name]) => name !== 'host');
  const framing = framingOf(all);
  const requestUri = target.startsWith('/') ? target : `/${target}`;
  const { path, args } = splitTarget(requestUri);
  const host = hostHeader === undefined ? '' : parseHost(hostHeader);
  const refusal = refusalOf({ host, hostHeader, args, framing });
  return {
    destination: { scheme, ...(place && { place }) },
    method,
    requestUri,
    path,
    args,
    host: host ?? '',
    hostHeader,
    headers: [...(hostHeader === undefined ? [] : ['host', hostHeader]), ...all.flat()],
    contentLength: lengthOf(framing, body),
    body: Buffer.from(body),
    from,
    ...(refusal && { refusal }),
  };
}

function placeOf(
  scheme: 'http' | 'https',
  authority: string | undefined,
  socket: string | undefined,
): Destination['place'] | string {
  if (socket !== undefined) return { socket };
  if (authority === undefined) return undefined;
  const [, literal, name, digits] = /^(?:(\[[^\]]*\])|([^:@]*))(?::(\d*))?$/.exec(authority) ?? [];
  const host = literal ?? name;
  const port = digits === undefined || digits === '' ? DEFAULT_PORTS[scheme] : Number(digits);
  if (host === undefined || host === '' || port > 65_535)
    return `invalid host in URL "${printable(authority)}"`;
  return { host: host.toLowerCase(), port };
}

/** The framing of a query's body, from its headers. */
function framingOf(headers: readonly (readonly [name: string, value: string])[]): Framing {
  const framing = new Framing();
  for (const [name, value] of headers) {
    if (name === 'content-length') framing.takeLength(value);
    else if (name === 'transfer-encoding') framing.takeEncoding(value);
  }
  return framing;
}

/** The length of a body: the declared one, else that of the given text. */
function lengthOf({ fault, bodyBytes }: Framing, body: string): number {
  if (fault) return 0;
  return bodyBytes >= 0 ? bodyBytes : Buffer.byteLength(body);
}

interface Head {
  readonly host: string | undefined;
  readonly hostHeader: string | undefined;
  readonly args: string;
  readonly framing: Framing;
}

function refusalOf({ host, hostHeader, args, framing }: Head): ReadQuery['refusal'] {
  if (host === undefined) return { status: 400, why: `"${hostHeader ?? ''}" is no host name` };
  if (!isValidQuery(args)) return { status: 400, why: 'the query has characters that must be encoded' };
  const refused = framing.refusalOfRequest(true);
  return refused && { status: refused.status, why: refused.what };
}

type Refusal = NonNullable<ReadQuery['refusal']>;

/** `GET `, ` HTTP/1.1` and the line end, beside the method and the target. */
const LINE_FRAME_BYTES = 11;
/** `: ` and the line end. */
const HEADER_FRAME_BYTES = 4;

/** The refusal of a port before a server is chosen, as in the engines; `undefined` if there is none. */
export function refusalBy(
  { head }: Pick<PortHandler, 'head'>,
  { method, requestUri, headers, refusal }: ReadQuery,
): Refusal | undefined {
  const status = methodRefusal(method);
  if (status === 400) return { status, why: `"${method}" is no method` };
  if (status === 405) return { status, why: `the method "${method}" is not served` };
  const sizes = headerSizes(headers);
  if (sizes.length > head.maxHeaders) return { status: 494, why: 'too many headers' };
  if (Math.max(...sizes) > head.lineBytes) return { status: 494, why: 'a header line is too long' };
  const total = sizes.reduce((sum, size) => sum + size + HEADER_FRAME_BYTES, 0);
  if (total > head.bytes) return { status: 494, why: 'the headers are too long' };
  if (requestUri.length + method.length + LINE_FRAME_BYTES > head.lineBytes)
    return { status: 414, why: 'the request line is too long' };
  return refusal;
}

/** The size of each header, name and value. */
function headerSizes(headers: readonly string[]): readonly number[] {
  return headers.flatMap((text, index) =>
    index % 2 === 0 ? [text.length + (headers[index + 1] ?? '').length] : [],
  );
}
