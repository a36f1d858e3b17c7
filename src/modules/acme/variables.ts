import { certificateId, type CertificatePair, type SharedCertificates } from '../../acme/index.ts';
import type { AcmeServer, VariableDefinition } from '../../contract/index.ts';
import type { Exchange } from '../../http/index.ts';
import { demandedBy, isConfigured } from './on-demand.ts';

const inHandshake = (summary: string): VariableDefinition => ({
  summary,
  live: true,
  compile: () => () => undefined,
});

/** The variables where no certificate is ordered. */
export const variables = {
  acme_certificate: inHandshake(
    'The certificate of `acme_certificate` and its chain, for `ssl_certificate`; empty until there is one, and in requests.',
  ),
  acme_certificate_key: inHandshake('The key of that certificate, for `ssl_certificate_key`.'),
};

/** Keys are known in handshakes only: no request can read them. */
const isHandshake = (x: Exchange): boolean => x.method === '' && x.request.connection?.tls !== undefined;

/** The variables of a server. */
export function definedBy(
  served: AcmeServer,
  certificates: SharedCertificates,
): Readonly<Record<keyof typeof variables, VariableDefinition>> {
  const { certificate, onDemand } = served;
  const configuredId = certificate && certificateId(certificate);
  const idOf = (x: Exchange): string | undefined => {
    const demanded = onDemand && !isConfigured(x, served) ? demandedBy(x, onDemand) : undefined;
    return demanded ? certificateId(demanded) : configuredId;
  };
  const part = (name: keyof CertificatePair): VariableDefinition => {
    const texts = new WeakMap<CertificatePair, string>();
    return {
      ...variables[name === 'chain' ? 'acme_certificate' : 'acme_certificate_key'],
      compile: () => (x) => {
        const id = isHandshake(x) ? idOf(x) : undefined;
        const pair = id === undefined ? undefined : certificates.certificate(id);
        if (!pair) return undefined;
        // The same text each time: what was made of a certificate is found by it.
        const text = texts.get(pair) ?? `data:${pair[name]}`;
        texts.set(pair, text);
        return text;
      },
    };
  };
  return { acme_certificate: part('chain'), acme_certificate_key: part('key') };
}
