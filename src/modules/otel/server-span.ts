import { type Build, type LocationFacts, loggedValue } from '../../contract/index.ts';
import { constantText } from '../../config/index.ts';
import { type AttributeValue, elapsedMs, type Exchange, requestId, type Span } from '../../http/index.ts';
import { redact } from '../../log/index.ts';
import type { OtelConfig } from './directives.ts';

/** Adds attributes of a request to a list. */
type Describe = (x: Exchange, attributes: AttributeValue[]) => void;

/** The name of the span of a request whose head could not be read. */
const UNREADABLE = 'bad request';

/** Compiles the span of a request that has ended: its name and attributes as the location says. */
export function compileServerSpan(config: OtelConfig, build: Build): (x: Exchange) => Span {
  const { location } = build;
  build.needHeader('user-agent');
  const { spanName } = config;
  const nameOf = spanName ? loggedValue(spanName, build) : () => location.path;
  const { common, own: ofRequest } = config.semconv === 'stable' ? STABLE : AS_NGINX;
  const { path } = location;
  const shown = textOf(location);
  const own = compileOwn(config, build);
  return (x) => {
    const trace = x.trace!;
    const endedMs = Date.now();
    const attributes: AttributeValue[] = [];
    common(x, attributes);
    if (path !== '') attributes.push('http.route', path, 'gw.location', shown);
    if (x.refusedBy !== '') attributes.push('gw.refused_by', x.refusedBy);
    ofRequest(x, attributes);
    attributes.push('http.request.id', requestId(x));
    own(x, attributes);
    return {
      trace,
      name: x.refusedBy === 'head' ? UNREADABLE : nameOf(x) || x.request.method,
      kind: 'server',
      spanId: undefined,
      parentId: trace.parentId,
      startedMs: endedMs - elapsedMs(x),
      endedMs,
      attributes,
      isError: x.status >= 500,
    };
  };
}

/** The attributes of a convention. First come those that many requests have in common: they are encoded once. */
interface Convention {
  readonly common: Describe;
  readonly own: Describe;
}

/** What nginx's module gives: OpenTelemetry's conventions 1.16. */
const AS_NGINX: Convention = {
  common(x, attributes) {
    const { request, status } = x;
    attributes.push('http.scheme', request.port.scheme, 'http.flavor', request.httpVersion);
    attributes.push('net.host.name', x.serverName || request.host);
    const port = ownPort(x);
    if (port !== undefined) attributes.push('net.host.port', port);
    if (request.method !== '') attributes.push('http.method', request.method);
    attributes.push('http.request_content_length', Math.max(0, request.contentLength));
    if (status !== 0) attributes.push('http.status_code', status);
  },

  own(x, attributes) {
    const { request } = x;
    attributes.push('http.response_content_length', x.bodyBytesSent);
    attributes.push('net.sock.peer.addr', x.remoteAddress);
    if (x.remotePort !== 0) attributes.push('net.sock.peer.port', x.remotePort);
    const userAgent = x.header('user-agent');
    if (userAgent !== undefined) attributes.push('http.user_agent', redact(userAgent));
    if (request.requestUri !== '') attributes.push('http.target', redact(request.requestUri));
  },
};

/** OpenTelemetry's stable conventions for HTTP servers (1.23 and later). */
const STABLE: Convention = {
  common(x, attributes) {
    const { request, status } = x;
    attributes.push('url.scheme', request.port.scheme);
    attributes.push('network.protocol.version', request.httpVersion === '2.0' ? '2' : request.httpVersion);
    attributes.push('server.address', x.serverName || request.host);
    const port = ownPort(x);
    if (port !== undefined) attributes.push('server.port', port);
    if (request.method !== '') attributes.push('http.request.method', request.method);
    attributes.push('http.request.body.size', Math.max(0, request.contentLength));
    if (status !== 0) attributes.push('http.response.status_code', status);
    if (status >= 500) attributes.push('error.type', String(status));
  },

  own(x, attributes) {
    attributes.push('http.response.body.size', x.bodyBytesSent);
    attributes.push('client.address', x.remoteAddress, 'network.peer.address', x.wire.peerAddress);
    if (x.wire.peerPort !== 0) attributes.push('network.peer.port', x.wire.peerPort);
    const userAgent = x.header('user-agent');
    if (userAgent !== undefined) attributes.push('user_agent.original', redact(userAgent));
    const target = redact(x.request.requestUri);
    const query = target.indexOf('?');
    if (target !== '') attributes.push('url.path', query < 0 ? target : target.slice(0, query));
    if (query >= 0) attributes.push('url.query', target.slice(query + 1));
  },
};

/** The port of the gateway, unless it is the usual one of its scheme. */
function ownPort({ request: { port } }: Exchange): number | undefined {
  const usual = port.scheme === 'https' ? 443 : 80;
  return port.port === 0 || port.port === usual ? undefined : port.port;
}

function textOf({ kind, path }: LocationFacts): string {
  if (kind === 'exact') return `= ${path}`;
  return kind === 'regex' ? `~ ${path}` : path;
}

/** Headers may occur several times: their attributes are lists. */
const OF_HEADERS = /^http\.(?:request|response)\.header\./;

/** Compiles `otel_span_attr`. Credentials and secret arguments are masked, as in logs. */
function compileOwn({ spanAttributes = [] }: OtelConfig, build: Build): Describe {
  const own = spanAttributes.map(({ name, value }) => {
    const fixed = constantText(value);
    const render = fixed === undefined ? loggedValue(value, build) : () => fixed;
    return { name, isList: OF_HEADERS.test(name), render };
  });
  return (x, attributes) => {
    for (const { name, isList, render } of own) {
      const value = render(x);
      attributes.push(name, isList ? [value] : value);
    }
  };
}
