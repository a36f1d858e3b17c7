import { X509Certificate } from 'node:crypto';
import { type CertificateView, showCertificates, type WorkerScope } from '../contract/index.ts';
import { certificatesOfFiles, type GatewayPlan } from '../plan/index.ts';

/** Shows the certificates of files that servers name without variables. */
export function showFiles({ servers }: Pick<GatewayPlan, 'servers'>, worker: WorkerScope): void {
  const files = certificatesOfFiles(servers);
  if (files.size === 0) return;
  const ends = new Map([...files].map(([name, pem]) => [name, Date.parse(new X509Certificate(pem).validTo)]));
  const of = (name: string): CertificateView | undefined => {
    const notAfterMs = ends.get(name);
    if (notAfterMs === undefined) return undefined;
    return { name, state: notAfterMs > Date.now() ? 'valid' : 'expired', notAfterMs };
  };
  const names = [...ends.keys()];
  showCertificates(worker, { names, all: () => names.flatMap((name) => of(name) ?? []), of });
}
