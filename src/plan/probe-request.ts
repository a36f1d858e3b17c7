import { tlsSettings } from '../client/index.ts';
import { type ComplexValue, constantText } from '../config/index.ts';
import type { ProxyPassConfig, LiteralTarget } from '../contract/index.ts';
import type { HealthCheck, ProbeRequest, UrlProbe } from '../health/index.ts';
import { isSafeHeaderValue } from '../http1/index.ts';

/** The timeout of a check in an `upstream`. */
const TIMEOUT_MS = 1000;

/** Returns the request of a check in an `upstream`: plain HTTP, with the name of the group as host. */
export function plainRequest(
  { uri, keepaliveMs, timeoutMs = TIMEOUT_MS }: Pick<HealthCheck, 'uri' | 'keepaliveMs' | 'timeoutMs'>,
  host: string,
): ProbeRequest {
  return {
    uri,
    headers: [['Host', host]],
    version: '1.1',
    timeoutMs,
    connectTimeoutMs: timeoutMs,
    sendTimeoutMs: timeoutMs,
    readTimeoutMs: timeoutMs,
    keepaliveMs,
    socket: { tcpKeepalive: false },
    tlsName: '',
    sendsName: false,
  };
}

/** Returns the request of a check in a location. It is sent like clients' requests. */
export function forwardedRequest(
  check: HealthCheck,
  pass: LiteralTarget,
  proxy: ProxyPassConfig,
): ProbeRequest {
  const { connectTimeoutMs, sendTimeoutMs, readTimeoutMs, httpVersion, bind, socketKeepalive } = proxy;
  const known = knownVariables(pass);
  const localAddress = bind === undefined || bind === 'off' ? '' : (constantText(bind) ?? '');
  return {
    uri: check.uri,
    headers: headersOf(proxy, known),
    version: httpVersion === '1.0' ? '1.0' : '1.1',
    timeoutMs: check.timeoutMs ?? connectTimeoutMs + sendTimeoutMs + readTimeoutMs,
    connectTimeoutMs,
    sendTimeoutMs,
    readTimeoutMs,
    keepaliveMs: check.keepaliveMs,
    socket: {
      tcpKeepalive: socketKeepalive,
      ...(localAddress !== '' && { localAddress }),
      ...(pass.scheme === 'https' && { tls: tlsSettings(proxy) }),
    },
    tlsName: (textOf(proxy.sslName, known) || (known['proxy_host'] ?? '')).replace(/:\d+$/, ''),
    sendsName: proxy.sslServerName,
  };
}

/** Headers that are not copied: `Connection` is set by the prober, the others would describe a body. */
const OWN: ReadonlySet<string> = new Set(['connection', 'content-length', 'transfer-encoding', 'upgrade']);

/** Returns the headers of `proxy_set_header`. As in requests, a header with an empty value is not sent. */
function headersOf({ setHeaders = [] }: ProxyPassConfig, known: KnownValues): ProbeRequest['headers'] {
  const set = setHeaders
    .map(({ name, value }) => [name, textOf(value, known)] as const)
    .filter(([name, value]) => !OWN.has(name.toLowerCase()) && value !== '' && isSafeHeaderValue(value));
  const hasHost = setHeaders.some(({ name }) => name.toLowerCase() === 'host');
  return hasHost ? set : [['Host', known['proxy_host'] ?? ''], ...set];
}

type KnownValues = Readonly<Record<string, string>>;

/** Returns the variables that have a value without a client: those about the destination. */
function knownVariables({ host, port, scheme }: LiteralTarget): KnownValues {
  const usual = scheme === 'http' ? 80 : 443;
  const isSocket = host.startsWith('unix:');
  const plain = isSocket ? 'localhost' : host;
  const proxyHost = port === undefined || port === usual || isSocket ? plain : `${host}:${port}`;
  return {
    proxy_host: proxyHost,
    proxy_port: isSocket ? '' : String(port ?? usual),
    host: plain,
    http_host: proxyHost,
    server_name: plain,
    scheme,
  };
}

function textOf({ parts }: ComplexValue, known: KnownValues): string {
  return parts
    .map((part) => {
      if (typeof part === 'string') return part;
      return 'variable' in part ? (known[part.variable] ?? '') : '';
    })
    .join('');
}

/** Returns the request of a probe that has a URL. The certificate of its host is not verified. */
export function urlRequest({ isTls, host, port, uri }: UrlProbe, timeoutMs: number): ProbeRequest {
  const usual = isTls ? 443 : 80;
  const name = port === usual ? host : `${host}:${port}`;
  return {
    ...plainRequest({ uri, keepaliveMs: 0, timeoutMs }, name),
    ...(isTls && { socket: { tcpKeepalive: false, tls: UNVERIFIED }, tlsName: host, sendsName: true }),
  };
}

const UNVERIFIED = {
  passphrases: [],
  ciphers: 'DEFAULT',
  minVersion: 'TLSv1.2',
  maxVersion: 'TLSv1.3',
  verify: false,
  verifyDepth: 1,
  reuseSessions: true,
} as const;
