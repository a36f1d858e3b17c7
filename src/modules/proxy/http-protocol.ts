import type { Build, HeaderRule, PassTarget } from '../../contract/index.ts';
import type { ComplexValue } from '../../config/index.ts';
import {
  compileHttp2Head,
  type HeadWriter,
  type Protocol,
  type Provisioned,
} from '../../forwarding/index.ts';
import type { ProxyConfig } from './config.ts';
import { compileRewrites } from './replacements.ts';
import { compileRequestHead, compileRequestTarget } from './request-head.ts';
import { compileTarget, type HttpTarget } from './target.ts';

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
    compileHead: (isForCache) => compileHead(isForCache ? forCache(config) : config, build),
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

function compileHead(config: ProxyConfig, build: Build): HeadWriter<HttpTarget> {
  if (config.httpVersion !== '2') return compileRequestHead(config, build);
  return compileHttp2Head(config, { authorityOf: (_x, { proxyHost }: HttpTarget) => proxyHost }, build);
}

/** Returns the configured `Range` that replaces the client's. */
function rangeOf({ setHeaders = [] }: Pick<ProxyConfig, 'setHeaders'>): ComplexValue | undefined {
  return setHeaders.find(({ name }) => name.toLowerCase() === 'range')?.value;
}

const variable = (name: string): ComplexValue => ({ parts: [{ variable: name }] });
const nothing: ComplexValue = { parts: [] };

/** Headers that concern the client alone (nginx ngx_http_proxy_cache_headers). */
const FOR_CACHE: readonly HeaderRule[] = [
  { name: 'If-Modified-Since', value: variable('upstream_cache_last_modified') },
  { name: 'If-Unmodified-Since', value: nothing },
  { name: 'If-None-Match', value: variable('upstream_cache_etag') },
  { name: 'If-Match', value: nothing },
  { name: 'Range', value: nothing },
  { name: 'If-Range', value: nothing },
];

/** Returns the rules for the heads of requests for the cache: configured headers, then those for the cache. */
function forCache(config: ProxyConfig): ProxyConfig {
  const { setHeaders = [] } = config;
  const names = new Set(setHeaders.map(({ name }) => name.toLowerCase()));
  const added = FOR_CACHE.filter(({ name }) => !names.has(name.toLowerCase()));
  return { ...config, setHeaders: [...setHeaders, ...added] };
}

type SslName = NonNullable<Protocol<HttpTarget>['tls']>['nameOf'];

/** Compiles `proxy_ssl_name`. Its default is `$proxy_host`. */
function compileSslName({ sslName }: ProxyConfig, build: Build): SslName {
  if (sslName.parts.length === 0) return (_x, { proxyHost }) => proxyHost;
  const render = build.value(sslName);
  return (x) => render(x);
}
