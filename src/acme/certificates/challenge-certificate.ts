import { createHash } from 'node:crypto';
import type { AcmeIdentifier } from '../plan.ts';
import { makeKey } from './requests.ts';

/** The texts of a certificate and its key in PEM. */
interface ChallengeCertificate {
  readonly chain: string;
  readonly key: string;
}

/** RFC 8737, 6.1. */
const ACME_IDENTIFIER = '1.3.6.1.5.5.7.1.31';
const HOUR_MS = 3_600_000;

/** Makes the self-signed certificate that proves control of a name or address (RFC 8737, 3; RFC 8738, 6). */
export async function challengeCertificate(
  identifier: AcmeIdentifier,
  keyAuthorization: string,
): Promise<ChallengeCertificate> {
  const { encodeSelfSigned } = await import('../../x509/index.ts');
  const key = await makeKey('ecdsa:256');
  const now = Date.now();
  const der = encodeSelfSigned({
    names: [identifier],
    commonName: 'ACME challenge',
    key,
    // Nobody looks at its dates (RFC 8737, 3), but clocks that differ should not matter to those who do.
    fromMs: now - 24 * HOUR_MS,
    untilMs: now + 7 * 24 * HOUR_MS,
    extension: { id: ACME_IDENTIFIER, bytes: createHash('sha256').update(keyAuthorization).digest() },
  });
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return {
    chain: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
    key: String(key.export({ type: 'pkcs8', format: 'pem' })),
  };
}

/**
 * The name by which an authority asks for the certificate in the handshake (SNI): an address is turned into its name for
 * reverse lookups (RFC 8738, 6).
 */
export async function challengeServerName({ type, value }: AcmeIdentifier): Promise<string> {
  if (type === 'dns') return value;
  const { bytesOfAddress } = await import('../../x509/index.ts');
  const bytes = bytesOfAddress(value);
  if (bytes.length === 4) return `${bytes.reverse().join('.')}.in-addr.arpa`;
  return `${Array.from(bytes.toString('hex')).reverse().join('.')}.ip6.arpa`;
}
