import { X509Certificate } from 'node:crypto';
import type { LoadedFile } from '../client/index.ts';
import { certificatesOfFiles, type GatewayPlan, type LocationPlan } from '../plan/index.ts';

/** The modules whose certificates are shown to peers. */
const TO_PEERS = ['proxy', 'grpc', 'uwsgi', 'kv'];

/** Returns a line for each certificate of a file that has expired: one that servers show, or that gw shows to its peers. */
export function expiredCertificates(
  { servers }: Pick<GatewayPlan, 'servers'>,
  nowMs: number,
): readonly string[] {
  const files = certificatesOfFiles(servers);
  for (const { root, named } of servers)
    for (const location of [root, ...named])
      for (const [name, pem] of shownToPeers(location)) files.set(name, pem);
  return [...files].flatMap(([name, pem]) => {
    const endMs = endOf(pem);
    return endMs > nowMs
      ? []
      : `certificate "${name}" expired on ${new Date(endMs).toISOString().slice(0, 10)}`;
  });
}

/** `Infinity`: what cannot be read is a fault of the load. */
function endOf(pem: string): number {
  try {
    return Date.parse(new X509Certificate(pem).validTo);
  } catch {
    return Infinity;
  }
}

function* shownToPeers({
  modules,
  locations,
  blocks = [],
}: LocationPlan): Generator<readonly [name: string, pem: string]> {
  for (const owner of TO_PEERS) {
    const { sslCertificate } = (modules[owner] ?? {}) as { readonly sslCertificate?: LoadedFile };
    if (sslCertificate && !sslCertificate.named) yield [sslCertificate.path, sslCertificate.text];
  }
  for (const location of [...locations, ...blocks.map(({ plan }) => plan)]) yield* shownToPeers(location);
}
