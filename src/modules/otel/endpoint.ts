/** The protocols of OTLP, named as in OpenTelemetry's own settings (`OTEL_EXPORTER_OTLP_PROTOCOL`). */
export const PROTOCOLS = ['grpc', 'http/json', 'http/protobuf'] as const;
export type OtlpProtocol = (typeof PROTOCOLS)[number];

/** The kinds of records; each has a path and a service of its own. */
export type Signal = 'traces' | 'metrics' | 'logs';

/** The collector that records are sent to. */
export interface Endpoint {
  readonly isTls: boolean;
  /** A name, an address, or a bracketed IPv6 address; '' for a Unix socket. */
  readonly host: string;
  /** `host:port` or `unix:/path`. */
  readonly address: string;
  /** What `Host` or `:authority` names. */
  readonly authority: string;
  /** '' if the text has none. */
  readonly path: string;
}

const URL_LIKE = /^(?:(https?):\/\/)?(\[[0-9a-f:.]+\]|[^/:@\s[\]]+)(?::(\d{1,5}))?(\/[\x21-\x7e]*)?$/i;

/** Reads `[http(s)://]host:port[/path]` or `unix:/path`. Returns what is wrong with it as a predicate. */
export function parseEndpoint(text: string): Endpoint | string {
  if (text.startsWith('unix:/'))
    return { isTls: false, host: '', address: text, authority: 'localhost', path: '' };
  const [, scheme = '', host = '', port = '', path = ''] = URL_LIKE.exec(text) ?? [];
  if (host === '') return 'is not a host with a port';
  if (port === '' && scheme === '') return 'has no port';
  const isTls = scheme.toLowerCase() === 'https';
  const number = port === '' ? (isTls ? 443 : 80) : Number(port);
  if (number < 1 || number > 65_535) return 'has an invalid port';
  const authority = port === '' ? host : `${host}:${number}`;
  return { isTls, host, address: `${host}:${number}`, authority, path: path === '/' ? '' : path };
}

/** The port that collectors reserve for OTLP over HTTP; 4317 is that of gRPC. */
const HTTP_PORT = /:4318$/;

/** Returns the protocol that an endpoint without `protocol` is spoken to in. */
export function usualProtocol({ address, path }: Endpoint): OtlpProtocol {
  return path !== '' || HTTP_PORT.test(address) ? 'http/json' : 'grpc';
}

/**
 * Returns the path that the records of a signal are sent to over HTTP. A path that ends in `/v1/traces` is that of
 * traces, and tells those of the others; any other path is used as it is.
 */
export function httpPathOf({ path }: Endpoint, signal: Signal): string {
  return path === '' ? `/v1/${signal}` : path.replace(/(^|\/)v1\/traces$/, `$1v1/${signal}`);
}

const SERVICES: Readonly<Record<Signal, string>> = {
  traces: '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
  metrics: '/opentelemetry.proto.collector.metrics.v1.MetricsService/Export',
  logs: '/opentelemetry.proto.collector.logs.v1.LogsService/Export',
};

/** Returns the path of a signal's service in gRPC. */
export function grpcPathOf(signal: Signal): string {
  return SERVICES[signal];
}
