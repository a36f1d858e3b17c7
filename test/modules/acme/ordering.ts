import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { type AcmeAuthority, startAuthority } from '../../harness/acme-authority.ts';
import { type Gateway, type GatewayOptions, type Owner, startGateway } from '../../harness/gateway.ts';
import { freePort } from '../../harness/ports.ts';

interface OrderingOptions extends GatewayOptions {
  /** Directives of the issuer; `DIR` is the directory of the gateway. */
  readonly issuer?: string | undefined;
  /** Directives of `http`; `PLAIN` and `TLS` are the ports. */
  readonly http?: string | undefined;
  /** `server_name`; default: `a.test`. */
  readonly names?: string | undefined;
  /** The words of `acme_certificate` after the issuer. */
  readonly identifiers?: string | undefined;
  /** The words of the `listen` with TLS after its address. */
  readonly listen?: string | undefined;
  readonly authority?: Parameters<typeof startAuthority>[1];
  readonly ports?: OrderingPorts;
  /** Called before the gateway starts. */
  readonly prepare?: (authority: AcmeAuthority) => void;
}

interface OrderingPorts {
  readonly plain: number;
  readonly tls: number;
}

export async function freePorts(): Promise<OrderingPorts> {
  return { plain: await freePort(), tls: await freePort() };
}

/** Options of a gateway whose clock `moveClock` moves. */
export const MOVABLE_CLOCK = {
  files: { clock: '0' },
  nodeFlags: ['--import', join(import.meta.dirname, '../../harness/moved-clock.mjs')],
  env: { GW_TEST_CLOCK: 'clock' },
} as const;

/** Sets by how much the clock of a gateway is ahead. */
export function moveClock({ dir }: Gateway, aheadMs: number): void {
  writeFileSync(join(dir, 'clock'), String(aheadMs));
}

/** An authority that validates at the ports of a gateway. */
export function authorityAt(
  t: Owner,
  { plain, tls }: OrderingPorts,
  options: OrderingOptions['authority'] = {},
): Promise<AcmeAuthority> {
  return startAuthority(t, { httpPort: plain, tlsPort: tls, ...options });
}

type ConfOptions = Pick<OrderingOptions, 'issuer' | 'http' | 'names' | 'identifiers' | 'listen'>;

/** What `http` holds: an issuer, and a server that orders its certificate there. */
export function orderingConf(
  { base }: Pick<AcmeAuthority, 'base'>,
  { plain, tls }: OrderingPorts,
  { issuer = '', http = '', names = 'a.test', identifiers = '', listen = 'ssl' }: ConfOptions,
): (dir: string) => string {
  return (
    dir,
  ) => `${http.replaceAll('DIR', dir).replaceAll('PLAIN', String(plain)).replaceAll('TLS', String(tls))}
    acme_issuer le { uri ${base}/directory; accept_terms_of_service; ${issuer.includes('state_path') ? '' : `state_path ${dir}/state;`} ${issuer.replaceAll('DIR', dir)} }
    server { listen 127.0.0.1:${plain}; listen 127.0.0.1:${tls} ${listen}; server_name ${names}; acme_certificate le ${identifiers}; return 200 ok; }`;
}

/** A gateway that orders certificates at an authority of the test. */
export async function startOrdering(
  t: Owner,
  {
    issuer,
    http,
    names,
    identifiers,
    listen,
    authority: how = {},
    ports: given,
    prepare,
    ...options
  }: OrderingOptions = {},
): Promise<{ readonly gw: Gateway; readonly authority: AcmeAuthority; readonly ports: OrderingPorts }> {
  const ports = given ?? (await freePorts());
  const authority = await authorityAt(t, ports, how);
  prepare?.(authority);
  const conf = orderingConf(authority, ports, { issuer, http, names, identifiers, listen });
  const gw = await startGateway(t, conf, { port: ports.plain, fresh: true, ...options });
  return { gw, authority, ports };
}

/** Returns the certificate that a port shows for a name; `undefined` if the handshake fails. */
export async function shownCertificate(
  port: number,
  servername: string,
): Promise<X509Certificate | undefined> {
  const socket = connect({ host: '127.0.0.1', port, servername, rejectUnauthorized: false });
  try {
    await once(socket, 'secureConnect');
    const { raw } = socket.getPeerCertificate();
    return new X509Certificate(raw);
  } catch {
    return undefined;
  } finally {
    socket.destroy();
  }
}
