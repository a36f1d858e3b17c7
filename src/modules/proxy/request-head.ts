import { constantText } from '../../config/index.ts';
import type { Build, LocationFacts } from '../../contract/index.ts';
import {
  encodePath,
  type Exchange,
  HttpFault,
  isSafeHeaderName,
  isSafeHeaderValue,
  rewritePhaseOf,
} from '../../http/index.ts';
import { connectionOptions, headerLine, HOP_BY_HOP, requestLine } from '../../http1/index.ts';
import type { HeaderRule, ProxyConfig } from './config.ts';

/** The URI of `proxy_pass` for this request. */
export interface PassUri {
  /** '' when there is none. */
  readonly uri: string;
  /** Came out of variables: sent as it is. */
  readonly isEvaluated: boolean;
}

/**
 * The request target that goes to the upstream (nginx ngx_http_proxy_create_request). Without a URI what the client sent, or
 * the encoded `$uri` when that has changed; with one, it takes the place of the location's prefix. Nothing in it can end the
 * request line.
 */
export function compileRequestTarget({ kind, path }: LocationFacts): (x: Exchange, pass: PassUri) => string {
  const prefixLength = kind === 'prefix' || kind === 'exact' ? path.length : 0;
  return (x, { uri, isEvaluated }) => {
    if (isEvaluated && uri !== '') return sendable(uri);
    if (uri === '' && x.isOriginalUri) return originForm(x.request.requestUri);
    const query = x.args === '' ? '' : `?${sendable(x.args)}`;
    if (uri === '' || rewritePhaseOf(x)?.hasLeftLocation) return encodePath(x.uri) + query;
    return sendable(uri) + encodePath(x.uri.slice(Math.min(prefixLength, x.uri.length))) + query;
  };
}

/** Upstreams are asked for a path, also where the client named the host in its request line. */
function originForm(target: string): string {
  return target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?]*/i, '').replace(/^(?!\/)/, '/');
}

const UNSAFE = /[^\x21-\x7e]+/g;

/** Blanks, control bytes and what is not ASCII are encoded; everything else stays as it is written. */
function sendable(text: string): string {
  return text.replace(UNSAFE, (run) =>
    Buffer.from(run).reduce((out, byte) => `${out}%${byte.toString(16).toUpperCase().padStart(2, '0')}`, ''),
  );
}

/** What the head of a request says besides the configured headers. */
interface RequestFraming {
  readonly target: string;
  /** `$proxy_host`. */
  readonly proxyHost: string;
  /** Bytes of the body; 0: none; -1: chunked. */
  readonly bodyBytes: number;
}

/** A head that is ready to send. */
export interface RequestHead {
  readonly text: string;
  readonly method: string;
  /** It asks for another protocol: a 101 is welcome. */
  readonly upgrades: boolean;
}

/** Headers that gw writes itself, besides those that end with each hop: the client's never go to an upstream. */
const NOT_PASSED: readonly string[] = [
  ...HOP_BY_HOP,
  'expect',
  // It would become the environment variable HTTP_PROXY of CGI programs.
  'proxy',
  'host',
  'content-length',
];

/** Named in `Connection` they stay all the same: dropping them would change what the request means. */
const NEVER_HOP: ReadonlySet<string> = new Set([
  'host',
  'authorization',
  'content-length',
  'cookie',
  'content-type',
]);

/** Only gw knows where a body ends. */
const FRAMING: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding']);

type Line = (x: Exchange, framing: RequestFraming) => string;

/** Builds the head of requests to the upstream: configured headers, gw's own, then the client's, as nginx orders them. */
export function compileRequestHead(
  config: ProxyConfig,
  build: Build,
): (x: Exchange, framing: RequestFraming) => RequestHead {
  const rules = (config.setHeaders ?? []).filter(({ name }) => !FRAMING.has(name.toLowerCase()));
  const names = new Set(rules.map(({ name }) => name.toLowerCase()));
  const lines = compileLines(onlyOneHost(rules), build);
  if (!names.has('host')) lines.push((_x, { proxyHost }) => headerLine('Host', proxyHost));
  const dropped = new Set([...NOT_PASSED, ...names]);
  const passed = config.passRequestHeaders ? compilePassed(dropped, build) : (): string => '';
  build.needHeader('content-length');
  const readMethod = config.method && build.value(config.method);
  const asksUpgrade = compileUpgrade(rules, build);
  return (x, framing) => {
    const method = readMethod ? methodOf(readMethod(x)) : x.method;
    let text = requestLine(method, framing.target, config.httpVersion);
    for (const line of lines) text += line(x, framing);
    text += framingLine(x, framing.bodyBytes);
    return { text: `${text}${passed(x)}\r\n`, method, upgrades: asksUpgrade(x) };
  };
}

/** nginx would send both; two parsers could choose different ones. */
function onlyOneHost(rules: readonly HeaderRule[]): readonly HeaderRule[] {
  const host = rules.find(({ name }) => name.toLowerCase() === 'host');
  return rules.filter((rule) => rule === host || rule.name.toLowerCase() !== 'host');
}

function compileLines(rules: readonly HeaderRule[], build: Build): Line[] {
  return rules.flatMap(({ name, value }): Line | readonly Line[] => {
    const fixed = constantText(value);
    if (fixed === '') return [];
    const render = build.value(value);
    return (x) => configuredLine(name, render(x));
  });
}

function configuredLine(name: string, value: string): string {
  if (value === '') return '';
  if (isSafeHeaderValue(value)) return headerLine(name, value);
  throw new HttpFault(500, `control character in the value of "${name}" for an upstream`);
}

/** A request with neither length says that it has no body; the client's own `Content-Length: 0` stays (nginx). */
function framingLine(x: Exchange, bodyBytes: number): string {
  if (bodyBytes > 0) return headerLine('Content-Length', bodyBytes);
  if (bodyBytes < 0) return 'Transfer-Encoding: chunked\r\n';
  return x.header('content-length') === '0' ? 'Content-Length: 0\r\n' : '';
}

/** The client's headers, as it wrote them, without those that are dropped or end with this hop. */
function compilePassed(dropped: ReadonlySet<string>, build: Build): (x: Exchange) => string {
  build.needAllHeaders();
  return ({ request: { headers } }) => {
    let text = '';
    let hops: ReadonlySet<string> | undefined;
    for (let index = 0; index < headers.length; index += 2) {
      const name = headers[index] as string;
      const lowerCase = name.toLowerCase();
      if (lowerCase === 'connection') hops = withHops(hops, headers[index + 1] as string);
      else if (!dropped.has(lowerCase)) text += headerLine(name, headers[index + 1] as string);
    }
    return hops ? withoutHops(text, hops) : text;
  };
}

function withHops(known: ReadonlySet<string> | undefined, value: string): ReadonlySet<string> | undefined {
  if (COMMON.has(value)) return known;
  const named = connectionOptions(value).filter(
    (option) => option !== 'close' && option !== 'keep-alive' && !NEVER_HOP.has(option),
  );
  return named.length === 0 ? known : new Set([...(known ?? []), ...named]);
}

const COMMON: ReadonlySet<string> = new Set([
  'keep-alive',
  'close',
  'upgrade',
  'Keep-Alive',
  'Close',
  'Upgrade',
]);

function withoutHops(text: string, hops: ReadonlySet<string>): string {
  const lines = text
    .split('\r\n')
    .filter((line) => !hops.has(line.slice(0, line.indexOf(':')).toLowerCase()));
  return lines.join('\r\n');
}

function methodOf(text: string): string {
  // RFC 9110, 9.1: a token, as names of headers are.
  if (isSafeHeaderName(text)) return text.toUpperCase();
  throw new HttpFault(500, 'the method for an upstream is not a token');
}

/** nginx passes a 101 on when the request that it sent carried `Upgrade` and the client asked for it. */
function compileUpgrade(rules: readonly HeaderRule[], build: Build): (x: Exchange) => boolean {
  const rule = rules.find(({ name }) => name.toLowerCase() === 'upgrade');
  if (!rule) return () => false;
  build.needHeader('upgrade');
  const render = build.value(rule.value);
  return (x) => x.header('upgrade') !== undefined && render(x) !== '';
}
