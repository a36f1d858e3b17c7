import type { ConnectionFacts, PortFacts, RequestFacts } from '../../http/index.ts';

/** What a head tells of a request. */
interface ReadHead {
  readonly facts: Omit<RequestFacts, 'serial' | 'port' | 'connection' | 'headers'>;
  readonly headers: readonly string[];
}

/** What a connection adds to it. */
interface CarryingConnection {
  readonly serial: number;
  readonly port: PortFacts;
  readonly facts: ConnectionFacts;
}

/** The request, field by field: a spread would take a fifth of the time of a small request. */
export function requestOf({ facts, headers }: ReadHead, connection: CarryingConnection): RequestFacts {
  return {
    line: facts.line,
    method: facts.method,
    requestUri: facts.requestUri,
    uri: facts.uri,
    args: facts.args,
    host: facts.host,
    authority: facts.authority ?? '',
    hostHeader: facts.hostHeader,
    referrer: facts.referrer,
    contentLength: facts.contentLength,
    httpVersion: facts.httpVersion,
    headers,
    serial: connection.serial,
    port: connection.port,
    connection: connection.facts,
  };
}
