import { type Build, type LocationFacts, loggedValue } from '../../contract/index.ts';
import { constantText } from '../../config/index.ts';
import { elapsedMs, type Exchange, requestId, type Span } from '../../http/index.ts';
import { redact } from '../../log/index.ts';
import type { OtelConfig } from './directives.ts';
import type { Attribute } from './records.ts';

/** Adds attributes of a request to a list. */
type Describe = (x: Exchange, attributes: Attribute[]) => void;

/** The name of the span of a request whose head could not be read. */
const UNREADABLE = 'bad request';

/** Compiles the span of a request that has ended: its name and attributes as the location says. */
export function compileServerSpan(config: OtelConfig, build: Build): (x: Exchange) => Span {
  const { location } = build;
  build.needHeader('user-agent');
  const { spanName } = config;
  const nameOf = spanName ? loggedValue(spanName, build) : () => location.path;
  const describe = config.semconv === 'stable' ? describeStable : describeAsNginx;
  const common = compileCommon(location);
  const own = compileOwn(config, build);
  return (x) => {
    const trace = x.trace!;
    const endedMs = Date.now();
    const attributes: Attribute[] = [];
    describe(x, attributes);
    common(x, attributes);
    own(x, attributes);
    return {
      trace,
      name: x.refusedBy === 'head' ? UNREADABLE : nameOf(x) || x.request.method,
      kind: 'server',
      spanId: trace.spanId,
      parentId: trace.parentId,
      startedMs: endedMs - elapsedMs(x),
      endedMs,
      attributes,
      isError: x.status >= 500,
    };
  };
}

/** The attributes that nginx's module gives: those of OpenTelemetry's conventions 1.16. */
function describeAsNginx(x: Exchange, attributes: Attribute[]): void {
  const { request, status } = x;
  if (request.method !== '') attributes.push(['http.method', request.method]);
  if (request.requestUri !== '') attributes.push(['http.target', redact(request.requestUri)]);
  attributes.push(['http.scheme', request.port.scheme], ['http.flavor', request.httpVersion]);
  const userAgent = x.header('user-agent');
  if (userAgent !== undefined) attributes.push(['http.user_agent', redact(userAgent)]);
  attributes.push(
    ['http.request_content_length', Math.max(0, request.contentLength)],
    ['http.response_content_length', x.bodyBytesSent],
  );
  if (status !== 0) attributes.push(['http.status_code', status]);
  attributes.push(['net.host.name', x.serverName || request.host]);
  const port = ownPort(x);
  if (port !== undefined) attributes.push(['net.host.port', port]);
  attributes.push(['net.sock.peer.addr', x.remoteAddress]);
  if (x.remotePort !== 0) attributes.push(['net.sock.peer.port', x.remotePort]);
}

/** The attributes of OpenTelemetry's stable conventions for HTTP servers (1.23 and later). */
function describeStable(x: Exchange, attributes: Attribute[]): void {
  const { request, status } = x;
  if (request.method !== '') attributes.push(['http.request.method', request.method]);
  const target = redact(request.requestUri);
  const query = target.indexOf('?');
  if (target !== '') attributes.push(['url.path', query < 0 ? target : target.slice(0, query)]);
  if (query >= 0) attributes.push(['url.query', target.slice(query + 1)]);
  attributes.push(['url.scheme', request.port.scheme]);
  attributes.push(['network.protocol.version', request.httpVersion === '2.0' ? '2' : request.httpVersion]);
  const userAgent = x.header('user-agent');
  if (userAgent !== undefined) attributes.push(['user_agent.original', redact(userAgent)]);
  attributes.push(
    ['http.request.body.size', Math.max(0, request.contentLength)],
    ['http.response.body.size', x.bodyBytesSent],
  );
  if (status !== 0) attributes.push(['http.response.status_code', status]);
  if (status >= 500) attributes.push(['error.type', String(status)]);
  attributes.push(['server.address', x.serverName || request.host]);
  const port = ownPort(x);
  if (port !== undefined) attributes.push(['server.port', port]);
  attributes.push(['client.address', x.remoteAddress], ['network.peer.address', x.wire.peerAddress]);
  if (x.wire.peerPort !== 0) attributes.push(['network.peer.port', x.wire.peerPort]);
}

/** The port of the gateway, unless it is the usual one of its scheme. */
function ownPort({ request: { port } }: Exchange): number | undefined {
  const usual = port.scheme === 'https' ? 443 : 80;
  return port.port === 0 || port.port === usual ? undefined : port.port;
}

/** Attributes that have the same names in both conventions. */
function compileCommon(location: LocationFacts): Describe {
  const { path } = location;
  const shown = textOf(location);
  return (x, attributes) => {
    if (path !== '') attributes.push(['http.route', path], ['gw.location', shown]);
    attributes.push(['http.request.id', requestId(x)]);
    if (x.refusedBy !== '') attributes.push(['gw.refused_by', x.refusedBy]);
  };
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
      attributes.push([name, isList ? [value] : value]);
    }
  };
}
