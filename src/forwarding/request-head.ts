import type { Word } from '../../grammar/index.ts';
import { type ArgReader, type ComplexValue, constantText, readers } from '../config/index.ts';
import {
  byteText,
  CONNECTION_FIELDS,
  encodePath,
  type Exchange,
  HttpFault,
  isSafeHeaderName,
  isSafeHeaderValue,
} from '../http/index.ts';
import { connectionOptions, HOP_BY_HOP } from '../http1/index.ts';
import type { ForwardingBuild } from './forwarding-build.ts';
import type { HeadWriter, Target } from './protocol.ts';

/** `proxy_set_header name value`. */
export interface HeaderRule {
  readonly name: string;
  readonly value: ComplexValue;
}

/** Reads `name value`. */
export const headerRule: ArgReader<HeaderRule> = readers.words(
  { syntax: 'name value', min: 2, max: 2 },
  (words, scope) => {
    const [name, value] = words as [Word, Word];
    if (isSafeHeaderName(name.value)) return { name: name.value, value: scope.complexValue(value) };
    scope.report.emerg(`invalid header name "${name.value}"`, name.span);
    return undefined;
  },
);

/** Headers of the client that are not passed on, besides the hop-by-hop ones, because gw writes its own. */
export const NOT_PASSED: readonly string[] = [
  ...HOP_BY_HOP,
  'expect',
  // CGI programs would get it as the environment variable HTTP_PROXY.
  'proxy',
  'host',
  'content-length',
];

/** Headers that no rule can set: they must agree with the body that gw sends. */
const FRAMING: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding']);

const variable = (name: string): ComplexValue => ({ parts: [{ variable: name }] });
const nothing: ComplexValue = { parts: [] };

/** For requests of the cache: headers that concern only the client (nginx ngx_http_proxy_cache_headers). */
const FOR_CACHE: readonly HeaderRule[] = [
  { name: 'If-Modified-Since', value: variable('upstream_cache_last_modified') },
  { name: 'If-Unmodified-Since', value: nothing },
  { name: 'If-None-Match', value: variable('upstream_cache_etag') },
  { name: 'If-Match', value: nothing },
  { name: 'Range', value: nothing },
  { name: 'If-Range', value: nothing },
];

/**
 * Returns the headers that gw adds to the requests to upstreams unless the configuration sets them. Every protocol
 * takes them from here: HTTP/1, HTTP/2 and gRPC as headers, FastCGI, SCGI and uwsgi as parameters. A value is rendered
 * once per request, before its first try. An empty value only removes the client's header.
 */
export function addedHeaders(isForCache: boolean): readonly HeaderRule[] {
  return isForCache ? FOR_CACHE : [];
}

/**
 * Returns the rules that apply, with those of added headers. Only the first `Host` is kept: nginx would send all of
 * them, and two parsers could choose different ones.
 */
export function applicableRules(
  configured: readonly HeaderRule[] = [],
  isForCache = false,
): readonly HeaderRule[] {
  const nameOf = (rule: HeaderRule): string => rule.name.toLowerCase();
  const names = new Set(configured.map(nameOf));
  const rules = [...configured, ...addedHeaders(isForCache).filter((rule) => !names.has(nameOf(rule)))];
  const host = rules.find((rule) => nameOf(rule) === 'host');
  return rules.filter((rule) => !FRAMING.has(nameOf(rule)) && (rule === host || nameOf(rule) !== 'host'));
}

/** Tells whether a request without a body to send has one nevertheless: of length 0, or in chunks of which none came. */
export function isEmptyBody(x: Exchange): boolean {
  return x.request.contentLength < 0 || x.header('content-length') === '0';
}

/** Checks the value of a configured header: it must not contain a byte that ends the line. */
export function checkedValue(name: string, value: string): string {
  if (isSafeHeaderValue(value)) return value;
  throw new HttpFault(500, `control character in the value of "${name}" for an upstream`);
}

/** Headers that are passed on even if `Connection` names them: without them the request would mean something else. */
const NEVER_HOP: ReadonlySet<string> = new Set([
  'host',
  'authorization',
  'content-length',
  'cookie',
  'content-type',
]);

const COMMON: ReadonlySet<string> = new Set([
  'keep-alive',
  'close',
  'upgrade',
  'Keep-Alive',
  'Close',
  'Upgrade',
]);

/** Adds the names in the client's `Connection` header, which end with this hop. */
export function withHops(
  known: ReadonlySet<string> | undefined,
  connection: string,
): ReadonlySet<string> | undefined {
  if (COMMON.has(connection)) return known;
  const named = connectionOptions(connection).filter(
    (option) => option !== 'close' && option !== 'keep-alive' && !NEVER_HOP.has(option),
  );
  return named.length === 0 ? known : new Set([...(known ?? []), ...named]);
}

/**
 * Returns the request target for a directive without a URI: the target that the client sent, or the encoded `$uri`
 * after a rewrite (nginx ngx_http_proxy_create_request). No byte in it can end a request line.
 */
export function passedTarget(x: Exchange): string {
  return x.isOriginalUri ? originForm(x.request.requestUri) : encodePath(x.uri) + queryOf(x);
}

/** Returns the query with its `?`; '' without a query. */
export function queryOf(x: Exchange): string {
  return x.args === '' ? '' : `?${sendable(x.args)}`;
}

/** Returns the target after a rewrite that has left the location; `undefined` if the request has not left it. */
export function rewrittenTarget(x: Exchange): string | undefined {
  return x.rewritePhase?.hasLeftLocation ? encodePath(x.uri) + queryOf(x) : undefined;
}

/** Reduces an absolute-form target to its path, because upstreams get origin-form targets only. */
function originForm(target: string): string {
  return target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?]*/i, '').replace(/^(?!\/)/, '/');
}

const UNSAFE = /[^\x21-\x7e]+/g;

/** Percent-encodes blanks, control bytes and bytes that are not ASCII; leaves everything else unchanged. */
export function sendable(text: string): string {
  return text.replace(UNSAFE, (run) =>
    Buffer.from(run).reduce((out, byte) => `${out}%${byte.toString(16).toUpperCase().padStart(2, '0')}`, ''),
  );
}

/** Returns a configured method. Throws an `HttpFault` (500) if it is not a token. */
export function checkedMethod(text: string): string {
  // A method is a token, as header names are (RFC 9110, 9.1).
  if (isSafeHeaderName(text)) return text.toUpperCase();
  throw new HttpFault(500, 'the method for an upstream is not a token');
}

/** The directives of a location about the heads of its requests. */
interface HeadConfig {
  readonly passRequestHeaders: boolean;
  readonly setHeaders?: readonly HeaderRule[];
  readonly method?: ComplexValue;
}

interface HeadDefaults<T extends Target> {
  /** True to omit the client's conditions and ranges. */
  readonly isForCache?: boolean;
  /** Returns `:authority`, unless a rule sets `Host`. */
  authorityOf(x: Exchange, target: T): string;
  /** Names, in lower case, and values of fields that are sent unless a rule sets them. */
  readonly fields?: readonly (readonly [name: string, value: string])[];
}

type AddFields = (x: Exchange, fields: string[]) => void;

/**
 * Compiles the heads of HTTP/2 requests: pseudo-fields, configured fields, gw's own, the client's; names in lower case.
 */
export function compileHttp2Head<T extends Target>(
  config: HeadConfig,
  { authorityOf, isForCache, fields: defaults = [] }: HeadDefaults<T>,
  build: ForwardingBuild,
): HeadWriter<T> {
  const rules = applicableRules(config.setHeaders, isForCache);
  const names = new Set(rules.map(({ name }) => name.toLowerCase()));
  const readHost = compileHost(rules, build);
  const addConfigured = compileConfigured(rules, build);
  const own = defaults.filter(([name]) => !names.has(name)).flat();
  const dropped = new Set([...NOT_PASSED, ...CONNECTION_FIELDS, ...names]);
  const addPassed = config.passRequestHeaders ? compilePassed(dropped, build) : (): void => undefined;
  build.needHeader('content-length');
  const readMethod = config.method && build.value(config.method);
  return (x, { target, uri, bodyBytes, method: forced }) => {
    const method = forced ?? (readMethod ? checkedMethod(readMethod(x)) : x.method);
    const authority = readHost?.(x) ?? authorityOf(x, target);
    const scheme = target.connections.isTls ? 'https' : 'http';
    const fields = [':method', method, ':scheme', scheme, ':authority', byteText(authority), ':path', uri];
    addConfigured(x, fields);
    fields.push(...own);
    if (bodyBytes > 0) fields.push('content-length', String(bodyBytes));
    else if (bodyBytes === 0 && isEmptyBody(x)) fields.push('content-length', '0');
    addPassed(x, fields);
    return { head: '', fields, method };
  };
}

/** `Host` sets `:authority`. An empty `Host` sends none in HTTP/1, but in HTTP/2 there always is an authority. */
function compileHost(
  rules: readonly HeaderRule[],
  build: ForwardingBuild,
): ((x: Exchange) => string | undefined) | undefined {
  const rule = rules.find(({ name }) => name.toLowerCase() === 'host');
  if (!rule || constantText(rule.value) === '') return undefined;
  const render = build.value(rule.value);
  return (x) => checkedValue('Host', render(x).trim()) || undefined;
}

function compileConfigured(rules: readonly HeaderRule[], build: ForwardingBuild): AddFields {
  const compiled = rules.flatMap(({ name, value }) => {
    const lowerCase = name.toLowerCase();
    if (lowerCase === 'host' || CONNECTION_FIELDS.has(lowerCase) || constantText(value) === '') return [];
    return [{ name: lowerCase, shown: name, render: build.value(value) }];
  });
  return (x, fields) => {
    for (const { name, shown, render } of compiled) {
      const value = checkedValue(shown, render(x).trim());
      // "trailers" is the only value that HTTP/2 allows.
      if (value !== '' && (name !== 'te' || value === 'trailers')) fields.push(name, byteText(value));
    }
  };
}

/** Compiles the client's headers, without those that are dropped or end with this hop. */
function compilePassed(dropped: ReadonlySet<string>, build: ForwardingBuild): AddFields {
  build.needAllHeaders();
  return ({ request: { headers } }, fields) => {
    const from = fields.length;
    let hops: ReadonlySet<string> | undefined;
    for (let index = 0; index < headers.length; index += 2) {
      const name = (headers[index] as string).toLowerCase();
      const value = headers[index + 1] as string;
      if (name === 'connection') hops = withHops(hops, value);
      // With "ignore_invalid_headers off", names may arrive that HTTP/2 cannot carry (RFC 9113, 8.2.1).
      else if (!dropped.has(name) && isSafeHeaderName(name)) fields.push(name, byteText(value));
    }
    if (hops) removeHops(fields, from, hops);
  };
}

function removeHops(fields: string[], from: number, hops: ReadonlySet<string>): void {
  for (let index = fields.length - 2; index >= from; index -= 2) {
    if (hops.has(fields[index] as string)) fields.splice(index, 2);
  }
}
