import type { BodyFraming } from '../../client/index.ts';
import { type ComplexValue, constantText } from '../../config/index.ts';
import type { Build, HeaderRule, LocationFacts, PassTarget } from '../../contract/index.ts';
import {
  applicableRules,
  checkedMethod,
  checkedValue,
  compileHttp2Head,
  type HeadWriter,
  isEmptyBody,
  NOT_PASSED,
  passedTarget,
  type Protocol,
  type Provisioned,
  queryOf,
  rewrittenTarget,
  sendable,
  withHops,
} from '../../forwarding/index.ts';
import { encodePath, type Exchange } from '../../http/index.ts';
import {
  CHUNK_END,
  chunkStart,
  headerLine,
  lastChunk,
  requestLine,
  withoutBlanks,
} from '../../http1/index.ts';
import type { ProxyConfig } from './config.ts';
import { compileRewrites } from './replacements.ts';
import { compileTarget, type HttpTarget, type PassUri } from './target.ts';

/** Headers that nginx hides, besides `X-Accel-…` (ngx_http_proxy_hide_headers). */
const HIDDEN: readonly string[] = ['Date', 'Server', 'X-Pad'];

/** Compiles the HTTP protocol of a `proxy_pass`. */
export function compileHttp(
  pass: PassTarget,
  config: ProxyConfig,
  { provisioned, build }: { readonly provisioned: Provisioned; readonly build: Build },
): Protocol<HttpTarget> {
  const uriOf = compileRequestTarget(build.location);
  return {
    targetOf: compileTarget(pass, config, { provisioned, build }),
    uriOf: (x, { pass: { uri, isEvaluated } }) => uriOf(x, { uri, isEvaluated }),
    compileHead: (isForCache) => compileHead(config, isForCache, build),
    // HTTP/1.0 has no chunked bodies.
    takesUnknownLength: config.httpVersion !== '1.0',
    range: rangeOf(config),
    defaultKey: (x, { target: { proxyHost }, uri }) => `${x.request.port.scheme}${proxyHost}${uri}`,
    hiddenHeaders: HIDDEN,
    rewrites: compileRewrites(config, build),
    passesTrailers: config.passTrailers,
    tls: { nameOf: compileSslName(config, build), sendsName: config.sslServerName },
  };
}

function compileHead(config: ProxyConfig, isForCache: boolean, build: Build): HeadWriter<HttpTarget> {
  if (config.httpVersion !== '2') return compileRequestHead(config, isForCache, build);
  const authorityOf = (_x: Exchange, { proxyHost }: HttpTarget): string => proxyHost;
  return compileHttp2Head(config, { authorityOf, isForCache }, build);
}

/** Returns the configured `Range` that replaces the client's. */
function rangeOf({ setHeaders = [] }: Pick<ProxyConfig, 'setHeaders'>): ComplexValue | undefined {
  return setHeaders.find(({ name }) => name.toLowerCase() === 'range')?.value;
}

type SslName = NonNullable<Protocol<HttpTarget>['tls']>['nameOf'];

/** Compiles `proxy_ssl_name`. Its default is `$proxy_host`. */
function compileSslName({ sslName }: ProxyConfig, build: Build): SslName {
  if (sslName.parts.length === 0) return (_x, { proxyHost }) => proxyHost;
  const render = build.value(sslName);
  return (x) => render(x);
}

/**
 * Compiles the request target that is sent to the upstream (nginx ngx_http_proxy_create_request). If `proxy_pass` has
 * no URI, that is the target the client sent, or the encoded `$uri` after a rewrite; otherwise the URI replaces the
 * location's prefix. No byte of it can end the request line.
 */
function compileRequestTarget({ kind, path }: LocationFacts): (x: Exchange, pass: PassUri) => string {
  const prefixLength = kind === 'prefix' || kind === 'exact' ? path.length : 0;
  return (x, { uri, isEvaluated }) => {
    if (isEvaluated && uri !== '') return sendable(uri);
    if (uri === '') return passedTarget(x);
    const rest = x.uri.slice(Math.min(prefixLength, x.uri.length));
    return rewrittenTarget(x) ?? sendable(uri) + encodePath(rest) + queryOf(x);
  };
}

const AFTER_CHUNK = Buffer.from(CHUNK_END);

/** A body of unknown length. */
const CHUNKS: BodyFraming = {
  frame: (piece) =>
    piece.byteLength === 0 ? [] : [Buffer.from(chunkStart(piece.byteLength)), piece, AFTER_CHUNK],
  end: Buffer.from(lastChunk()),
};

type Line = (x: Exchange, target: HttpTarget) => string;

/** Compiles the head of requests to the upstream: configured headers, then gw's own, then the client's, in nginx's order. */
function compileRequestHead(config: ProxyConfig, isForCache: boolean, build: Build): HeadWriter<HttpTarget> {
  const version = config.httpVersion === '1.0' ? '1.0' : '1.1';
  const rules = applicableRules(config.setHeaders, isForCache);
  const names = new Set(rules.map(({ name }) => name.toLowerCase()));
  const upgrade = compileUpgrade(rules, config.upgradeProtocols, build);
  const lines = compileLines(rules, { upgrade, build });
  if (!names.has('host')) lines.push((_x, { proxyHost }) => headerLine('Host', proxyHost));
  const dropped = new Set([...NOT_PASSED, ...names]);
  const passed = config.passRequestHeaders ? compilePassed(dropped, build) : (): string => '';
  build.needHeader('content-length');
  const readMethod = config.method && build.value(config.method);
  return (x, { target, uri, bodyBytes, method: forced }) => {
    const method = forced ?? (readMethod ? checkedMethod(readMethod(x)) : x.method);
    let text = requestLine(method, uri, version);
    for (const line of lines) text += line(x, target);
    text += framingLine(x, bodyBytes);
    const head = { head: `${text}${passed(x)}\r\n`, method, upgrades: upgrade.asked(x) };
    return bodyBytes < 0 ? { ...head, framing: CHUNKS } : head;
  };
}

function compileLines(
  rules: readonly HeaderRule[],
  { upgrade, build }: { upgrade: Upgrade; build: Build },
): Line[] {
  return rules.flatMap(({ name, value }): Line | readonly Line[] => {
    if (name.toLowerCase() === 'upgrade') return (x) => configuredLine(name, upgrade.sent(x));
    const fixed = constantText(value);
    if (fixed === '') return [];
    const render = build.value(value);
    return (x) => configuredLine(name, render(x));
  });
}

function configuredLine(name: string, value: string): string {
  return value === '' ? '' : headerLine(name, checkedValue(name, value));
}

/** Returns the header that frames the body; none if the client has sent neither a length nor chunks (nginx). */
function framingLine(x: Exchange, bodyBytes: number): string {
  if (bodyBytes > 0) return headerLine('Content-Length', bodyBytes);
  if (bodyBytes < 0) return 'Transfer-Encoding: chunked\r\n';
  return isEmptyBody(x) ? 'Content-Length: 0\r\n' : '';
}

/** Compiles the client's headers as it wrote them, without dropped and hop-by-hop headers. */
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

function withoutHops(text: string, hops: ReadonlySet<string>): string {
  const lines = text
    .split('\r\n')
    .filter((line) => !hops.has(line.slice(0, line.indexOf(':')).toLowerCase()));
  return lines.join('\r\n');
}

/** The change of protocols that a request asks for. */
interface Upgrade {
  /** The value of the `Upgrade` header; '' if none is sent. */
  readonly sent: (x: Exchange) => string;
  /** In lower case; `undefined`: a response 101 is not passed on. */
  readonly asked: (x: Exchange) => readonly string[] | undefined;
}

const NO_UPGRADE: Upgrade = { sent: () => '', asked: () => undefined };

/**
 * Compiles the change of protocols: both the client and gw have to send `Upgrade` (nginx). Only configured protocols
 * are named to the upstream: after the change no location checks the requests of the client.
 */
function compileUpgrade(rules: readonly HeaderRule[], protocols: readonly string[], build: Build): Upgrade {
  const rule = rules.find(({ name }) => name.toLowerCase() === 'upgrade');
  if (!rule) return NO_UPGRADE;
  build.needHeader('upgrade');
  const render = build.value(rule.value);
  const admitted = (value: string): readonly string[] => {
    // Nearly all clients name this protocol.
    if (value === 'websocket' && protocols.includes(value)) return [value];
    return value.split(',').flatMap((item) => {
      const protocol = withoutBlanks(item);
      return protocols.includes(protocol.toLowerCase()) ? [protocol] : [];
    });
  };
  return {
    sent: (x) => {
      const value = render(x);
      return value === '' ? '' : admitted(value).join(', ');
    },
    asked: (x) => {
      const wanted = x.header('upgrade');
      if (wanted === undefined) return undefined;
      const named = admitted(wanted).map((protocol) => protocol.toLowerCase());
      const sent = admitted(render(x)).map((protocol) => protocol.toLowerCase());
      const both = named.filter((protocol) => sent.includes(protocol));
      return both.length > 0 ? both : undefined;
    },
  };
}
