import type { ServerName } from '../contract/index.ts';
import { compileRegex, type Exchange, type Regex } from '../http/index.ts';
import { type GatewayPlan, type PortPlan, type TlsPlan, verifierOf } from '../plan/index.ts';
import { UNKNOWN_AUTHORITY } from '../system/index.ts';
import { capturesOf, keepCaptures } from './captures.ts';
import type { PortServing, ServerContext, ServerHandler } from './server.ts';

/** A server found by name; `captures` is set if a regex name matched. */
interface FoundServer<T> {
  readonly server: T;
  readonly captures: RegExpExecArray | undefined;
}

/**
 * The servers of one port by host name. Exact names win, then the longest `*.x`, the longest `x.*`, the first matching
 * regex, and last the default (nginx, "Server names").
 */
export class ServerNames<T> {
  readonly #exact = new Map<string, T>();
  readonly #suffixes = new Map<string, T>();
  readonly #prefixes = new Map<string, T>();
  readonly #regexes: { readonly regex: Regex; readonly server: T }[] = [];
  readonly #fallback: FoundServer<T>;

  constructor(fallback: T) {
    this.#fallback = { server: fallback, captures: undefined };
  }

  /** Adds a name. If several servers have it, the first one wins. */
  add(name: ServerName, server: T): void {
    switch (name.kind) {
      case 'exact':
        return addOnce(this.#exact, name.name, server);
      case 'leading wildcard':
        return addOnce(this.#suffixes, name.suffix, server);
      case 'trailing wildcard':
        return addOnce(this.#prefixes, name.prefix, server);
      case 'regex':
        this.#regexes.push({ regex: compileRegex(name.regex), server });
    }
  }

  /** Finds the server of a host; `host` is in lower case without port, '' if the request has none. */
  find(host: string): FoundServer<T> {
    const server = this.#exact.get(host) ?? this.#bySuffix(host) ?? this.#byPrefix(host);
    return server === undefined ? (this.#byRegex(host) ?? this.#fallback) : { server, captures: undefined };
  }

  #bySuffix(host: string): T | undefined {
    if (this.#suffixes.size === 0) return undefined;
    for (let dot = host.indexOf('.'); dot >= 0; dot = host.indexOf('.', dot + 1)) {
      const server = dot > 0 ? this.#suffixes.get(host.slice(dot)) : undefined;
      if (server !== undefined) return server;
    }
    return undefined;
  }

  #byPrefix(host: string): T | undefined {
    if (this.#prefixes.size === 0) return undefined;
    for (let dot = host.lastIndexOf('.'); dot > 0; dot = host.lastIndexOf('.', dot - 1)) {
      const server = dot < host.length - 1 ? this.#prefixes.get(host.slice(0, dot + 1)) : undefined;
      if (server !== undefined) return server;
    }
    return undefined;
  }

  #byRegex(host: string): FoundServer<T> | undefined {
    for (const { regex, server } of this.#regexes) {
      const captures = regex.exec(host);
      if (captures) return { server, captures };
    }
    return undefined;
  }
}

function addOnce<T>(names: Map<string, T>, name: string, server: T): void {
  if (!names.has(name)) names.set(name, server);
}

/** The servers of a plan, compiled in its order. */
interface Servers {
  readonly plan: GatewayPlan;
  readonly servers: readonly ServerHandler[];
  readonly context: Pick<ServerContext, 'variables'>;
}

/** A server found by name, and the slots for the captures of a regex name. */
interface NamedServer {
  readonly server: ServerHandler;
  readonly slots: ReturnType<typeof capturesOf>;
  /** Returns the status that refuses a request, or 0. */
  readonly refusal: ((x: Exchange) => number) | undefined;
}

/** Compiles the choice among several servers by the request's host. */
export function servingByName(port: PortPlan, { plan, servers, context }: Servers): PortServing {
  const target = (index: number): Omit<NamedServer, 'slots'> => ({
    server: servers[index] as ServerHandler,
    refusal: port.ssl ? compileGate(port, index, plan.servers[index]?.tls) : undefined,
  });
  const names = new ServerNames<NamedServer>({ ...target(port.defaultServer), slots: [] });
  for (const index of port.servers) {
    for (const name of plan.servers[index]?.names ?? []) {
      const slots = name.kind === 'regex' ? capturesOf(name.regex, context.variables) : [];
      names.add(name, { ...target(index), slots });
    }
  }
  const find = (x: Exchange): NamedServer => {
    const { server, captures } = names.find(x.request.host);
    if (captures) keepCaptures(x, captures, server.slots);
    return server;
  };
  return {
    enter: (x) => find(x).server.enterRefused(x),
    serve(x) {
      const { server, refusal } = find(x);
      const status = refusal?.(x) ?? 0;
      if (status === 0) return server.serve(x);
      // As in nginx, a misdirected request gets its response from the server that the handshake named.
      const named = x.request.connection?.tls?.serverName.toLowerCase() ?? '';
      (status === 421 ? names.find(named).server.server : server).enter(x);
      return x.end(status);
    },
  };
}

/** Adds to the check of the handshake that no stream of HTTP/2 reaches a server that does not speak it (nginx). */
function compileGate(
  { http2 }: Pick<PortPlan, 'http2'>,
  index: number,
  plan: TlsPlan | undefined,
): (x: Exchange) => number {
  const gate = compileTlsGate(plan);
  if (!http2 || http2.servers.includes(index)) return gate;
  return (x) => (x.request.httpVersion === '2.0' ? 421 : gate(x));
}

/**
 * Compiles the check of a request against the handshake and certificate of its connection: it returns the status that
 * refuses the request, or 0.
 */
function compileTlsGate(plan: TlsPlan | undefined): (x: Exchange) => number {
  const verify = plan?.verify ?? 'off';
  const verifier = plan ? verifierOf(plan) : '';
  return (x) => {
    const { connection } = x.request;
    const tls = connection?.tls;
    // On uWebSockets.js a request knows nothing of its connection, but has come over TLS.
    if (connection && !tls) return 497;
    if (verify === 'off') return 0;
    if (!tls) return 400;
    // The client was verified with another server's authorities, or not at all.
    if (tls.namesServer && tls.serverName.toLowerCase() !== x.request.host) return 421;
    const { client } = tls;
    if (!client) return verify === 'on' ? 496 : 0;
    // The handshake named no server, so the client was verified with the default server's authorities.
    if (client.verifier !== verifier) return 421;
    // No trusted authority is configured (nginx: ngx_ssl_verify_error_optional).
    const isTolerated = verify === 'optional_no_ca' && UNKNOWN_AUTHORITY.has(client.fault?.code ?? '');
    return client.fault && !isTolerated ? 495 : 0;
  };
}
