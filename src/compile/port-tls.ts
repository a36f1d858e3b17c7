import { type PairPaths, TICKET_KEY, type WorkerScope } from '../contract/index.ts';
import type { NewConnection } from '../http/index.ts';
import { canShakeHands, type GatewayPlan, type PortPlan, type TlsPlan } from '../plan/index.ts';
import { ServerNames } from './server-names.ts';
import type { ServerHandler } from './server.ts';

/** The server whose certificate a client gets. */
export interface TlsTarget {
  readonly plan: TlsPlan;
  /** True if the client asked for a name of that server. */
  readonly namesServer: boolean;
  /** True if that server speaks HTTP/2. */
  readonly http2: boolean;
  /** Returns the names of the pairs to read for this connection. Absent: the plan has all pairs. */
  readonly pairs?: ((connection: NewConnection) => readonly PairPaths[]) | undefined;
}

/** The TLS settings of a port. */
export interface PortTls {
  /** Chooses the server; `serverName` is in lower case, '' if the client sent none. */
  readonly choose: (serverName: string) => TlsTarget;
  /** 48 bytes in base64, the same in every worker. */
  readonly ticketKey: string;
}

/**
 * Compiles the choice of a server by the name in the handshake. A server without a certificate uses that of the default
 * server.
 */
export function compilePortTls(
  { servers, defaultServer, ssl, http2 }: PortPlan,
  plan: GatewayPlan,
  { handlers, worker }: { readonly handlers: readonly ServerHandler[]; readonly worker: WorkerScope },
): PortTls | undefined {
  const fallback = plan.servers[defaultServer]?.tls;
  if (!ssl || !fallback) return undefined;
  const speaksHttp2 = (index: number): boolean => http2?.servers.includes(index) ?? false;
  const settingsOf = (index: number): Pick<TlsTarget, 'plan' | 'pairs'> => {
    const own = plan.servers[index]?.tls;
    const shown = canShakeHands(own) ? index : defaultServer;
    return { plan: plan.servers[shown]?.tls ?? fallback, pairs: handlers[shown]?.pairs() };
  };
  const nameless: TlsTarget = {
    ...settingsOf(defaultServer),
    namesServer: false,
    http2: speaksHttp2(defaultServer),
  };
  const names = new ServerNames<TlsTarget>(nameless);
  for (const index of servers) {
    const server = plan.servers[index];
    const target: TlsTarget = { ...settingsOf(index), namesServer: true, http2: speaksHttp2(index) };
    for (const name of server?.names ?? []) names.add(name, target);
  }
  const choose = (serverName: string): TlsTarget =>
    serverName === '' ? nameless : names.find(serverName).server;
  return { choose, ticketKey: (worker.provided(TICKET_KEY) as string | undefined) ?? '' };
}
