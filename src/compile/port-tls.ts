import { TICKET_KEY, type WorkerScope } from '../contract/index.ts';
import type { Exchange } from '../http/index.ts';
import { canShakeHands, type GatewayPlan, type PortPlan, type TlsPlan, verifierOf } from '../plan/index.ts';
import { ServerNames } from './server-names.ts';

/** Whose certificate a client gets. */
export interface TlsTarget {
  readonly plan: TlsPlan;
  /** The name that the client asked for is that server's. */
  readonly namesServer: boolean;
}

/** TLS on a port. */
export interface PortTls {
  /** `serverName`: what the client asks for in lower case, '' for nothing. */
  readonly choose: (serverName: string) => TlsTarget;
  /** 48 bytes in base64, the same in every worker. */
  readonly ticketKey: string;
}

/** The servers of a TLS port by the name in the handshake; one without a certificate shows that of the default server. */
export function compilePortTls(
  { servers, defaultServer, ssl }: PortPlan,
  plan: GatewayPlan,
  worker: WorkerScope,
): PortTls | undefined {
  const fallback = plan.servers[defaultServer]?.tls;
  if (!ssl || !fallback) return undefined;
  const names = new ServerNames<TlsTarget>({ plan: fallback, namesServer: false });
  for (const index of servers) {
    const server = plan.servers[index];
    const own = canShakeHands(server?.tls) ? server.tls : fallback;
    for (const name of server?.names ?? []) names.add(name, { plan: own, namesServer: true });
  }
  const choose = (serverName: string): TlsTarget =>
    serverName === '' ? { plan: fallback, namesServer: false } : names.find(serverName).server;
  return { choose, ticketKey: (worker.provided(TICKET_KEY) as string | undefined) ?? '' };
}

/** Faults of a chain that `optional_no_ca` lets pass: nobody said whom to trust (nginx: ngx_ssl_verify_error_optional). */
const OPTIONAL_FAULTS: ReadonlySet<string> = new Set([
  'UNABLE_TO_GET_ISSUER_CERT',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** The status that refuses a request on a TLS port to a server, as its handshake and certificate are; 0: none. */
export function compileTlsGate(plan: TlsPlan | undefined): (x: Exchange) => number {
  const verify = plan?.verify ?? 'off';
  const verifier = plan ? verifierOf(plan) : '';
  return (x) => {
    const tls = x.request.connection?.tls;
    if (!tls) return 497;
    if (verify === 'off') return 0;
    // Another server's authorities have verified this client, or nobody's.
    if (tls.namesServer && tls.serverName.toLowerCase() !== x.request.host) return 421;
    const { client } = tls;
    if (!client) return verify === 'on' ? 496 : 0;
    // Nobody was named in the handshake, so the default server's authorities have verified the client.
    if (client.verifier !== verifier) return 421;
    const isTolerated = verify === 'optional_no_ca' && OPTIONAL_FAULTS.has(client.fault?.code ?? '');
    return client.fault && !isTolerated ? 495 : 0;
  };
}
