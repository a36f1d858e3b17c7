import type { ConnectionFacts, PortFacts, RequestFacts } from '../../http/index.ts';

/** The parts of a head that make a request. */
interface ReadHead {
  readonly facts: Omit<RequestFacts, 'serial' | 'port' | 'connection' | 'headers'>;
  readonly headers: readonly string[];
}

/** The facts that a connection adds to a request. */
interface CarryingConnection {
  readonly serial: number;
  readonly port: PortFacts;
  readonly facts: ConnectionFacts;
}

/** Returns the request. Fields are copied one by one: a spread would take a fifth of the time of a small request. */
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
