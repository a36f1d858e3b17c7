import type { Word } from '../../grammar/index.ts';
import { type ArgReader, type ComplexValue, constantText, readers } from '../config/index.ts';
import type { Exchange } from '../http/index.ts';
import { isSecretName, MASK, redact } from '../log/index.ts';
import type { ForwardingBuild } from './forwarding-build.ts';
import type { Protocol, Target } from './protocol.ts';
import { addedHeaders } from './request-head.ts';

/** `fastcgi_param name value [if_not_empty]` and similar directives: a variable of the CGI environment. */
export interface ParamConfig {
  readonly name: string;
  readonly value: ComplexValue;
  /** True if an empty value is not sent. */
  readonly ifNotEmpty: boolean;
}

/** Reads `name value [if_not_empty]`. */
export const paramReader: ArgReader<ParamConfig> = readers.words(
  { syntax: 'name value [if_not_empty]', min: 2, max: 3 },
  (words, scope) => {
    const [name, value, condition] = words as [Word, Word, Word?];
    if (condition && condition.value !== 'if_not_empty') {
      scope.report.emerg(`invalid parameter "${condition.value}"`, condition.span, 'expected "if_not_empty"');
      return undefined;
    }
    return { name: name.value, value: scope.complexValue(value), ifNotEmpty: condition !== undefined };
  },
);

/** Receives the parameters of one request in their order. */
type ParamSink = (name: string, value: string) => void;

interface ParamRules {
  readonly params: readonly ParamConfig[];
  /** True if the headers of the request are parameters as well. */
  readonly passesHeaders: boolean;
  /** True to omit the client's conditions and ranges. */
  readonly isForCache: boolean;
}

/**
 * Compiles the parameters of requests: those of the configuration, then the headers as `HTTP_…` (RFC 3875, 4.1.18). A
 * configured `HTTP_…` replaces the header. Headers with the same name become one parameter, as in nginx since 1.23.
 */
export function compileParams(
  { params, passesHeaders, isForCache }: ParamRules,
  build: Pick<ForwardingBuild, 'value' | 'needAllHeaders'>,
): (x: Exchange, give: ParamSink, method?: string) => void {
  const named = new Set(params.map(({ name }) => name));
  const rules = [...params, ...addedParams(isForCache).filter(({ name }) => !named.has(name))];
  const writers = rules.map((rule) => compileParam(rule, build));
  const replaced = new Set([...NEVER_PASSED, ...rules.map(({ name }) => name)]);
  if (passesHeaders) build.needAllHeaders();
  return (x, give, method) => {
    // A request for the cache may have another method than the client's request.
    const sink: ParamSink = method
      ? (name, value) => give(name, name === 'REQUEST_METHOD' ? method : value)
      : give;
    for (const write of writers) write(x, sink);
    if (passesHeaders) giveHeaders(x.request.headers, replaced, give);
  };
}

function compileParam(
  { name, value, ifNotEmpty }: ParamConfig,
  build: Pick<ForwardingBuild, 'value'>,
): (x: Exchange, give: ParamSink) => void {
  const fixed = constantText(value);
  // nginx: an empty value of `HTTP_…` only suppresses the header.
  if (fixed === '' && name.startsWith('HTTP_')) return () => undefined;
  if (fixed !== undefined)
    return fixed === '' && ifNotEmpty ? () => undefined : (_x, give) => give(name, fixed);
  const render = build.value(value);
  return (x, give) => {
    const text = render(x);
    if (text !== '' || !ifNotEmpty) give(name, text);
  };
}

/**
 * Programs that speak HTTP themselves use `HTTP_PROXY` as their own setting, and the body that they receive is no
 * longer chunked.
 */
const NEVER_PASSED: readonly string[] = ['HTTP_PROXY', 'HTTP_TRANSFER_ENCODING'];

/** The headers that gw adds, as parameters that are not sent empty (nginx ngx_http_fastcgi_cache_headers). */
function addedParams(isForCache: boolean): readonly ParamConfig[] {
  return addedHeaders(isForCache).map(({ name, value }) => ({
    name: paramOf(name).name,
    value,
    ifNotEmpty: true,
  }));
}

/**
 * `X-A` and `X_A` become one parameter. If both arrive, only the former counts: nginx sends both, and the program takes
 * the one that the client could write freely.
 */
function giveHeaders(headers: readonly string[], replaced: ReadonlySet<string>, give: ParamSink): void {
  const found = new Map<string, HeaderParam>();
  for (let index = 0; index < headers.length; index += 2) {
    const { name, isExact } = paramOf(headers[index] as string);
    if (replaced.has(name)) continue;
    const value = headers[index + 1] as string;
    const before = found.get(name);
    if (before?.isExact === isExact) before.value += `${name === 'HTTP_COOKIE' ? '; ' : ', '}${value}`;
    else if (!before || isExact) found.set(name, { value, isExact });
  }
  for (const [name, { value }] of found) give(name, value);
}

interface HeaderParam {
  value: string;
  /** True if the header has no underscores. */
  readonly isExact: boolean;
}

interface ParamName {
  readonly name: string;
  readonly isExact: boolean;
}

/** Parameters by header name as received: the same few names recur. */
const known = new Map<string, ParamName>();
const MOST_KNOWN = 1_000;

function paramOf(header: string): ParamName {
  const found = known.get(header);
  if (found !== undefined) return found;
  const param = {
    name: `HTTP_${header.toUpperCase().replaceAll('-', '_')}`,
    isExact: !header.includes('_'),
  };
  if (known.size < MOST_KNOWN) known.set(header, param);
  return param;
}

/** Returns the parameter that carries the `Range` of requests for pieces (`slice`). Programs may use its plain name. */
function rangeParam(params: readonly ParamConfig[] = []): ComplexValue | undefined {
  return params.find(({ name }) => /^(?:HTTP_)?RANGE$/i.test(name))?.value;
}

/** Returns facts about the parameters with which a request would be sent. */
export function explainParams(
  params: readonly ParamConfig[],
  passesHeaders: boolean,
  build: Pick<ForwardingBuild, 'value' | 'needAllHeaders'>,
): (
  x: Exchange,
  asked: { readonly method?: string | undefined },
  isForCache: boolean,
) => readonly { label: string; value: string }[] {
  const forClient = compileParams({ params, passesHeaders, isForCache: false }, build);
  const forCache = compileParams({ params, passesHeaders, isForCache: true }, build);
  return (x, { method }, isForCache) => {
    const facts: { label: string; value: string }[] = [];
    const tell: ParamSink = (name, value) =>
      facts.push({ label: 'param', value: `${name} ${isSecretName(name) ? MASK : redact(value)}` });
    (isForCache ? forCache : forClient)(x, tell, method);
    return facts;
  };
}

/** Returns the common parts of protocols with CGI parameters: no URI, no trailers, and a leading `CONTENT_LENGTH`. */
export function cgiProtocol(
  params: readonly ParamConfig[] | undefined,
  hiddenHeaders: readonly string[],
): Omit<Protocol<Target>, 'targetOf' | 'compileHead'> {
  return {
    uriOf: () => '',
    takesUnknownLength: false,
    range: rangeParam(params),
    defaultKey: (x) => `${x.request.port.scheme}${x.request.host}${x.request.requestUri}`,
    hiddenHeaders,
    rewrites: new Map(),
    passesTrailers: false,
  };
}
