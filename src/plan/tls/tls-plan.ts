import { createPrivateKey } from 'node:crypto';
import type { SecureContextOptions, SecureVersion } from 'node:tls';
import type { SessionCache, VerifyClient } from '../../contract/index.ts';

/** The TLS of one server with the content of all files that it names: certificates are read once per load. */
export interface TlsPlan {
  /** PEM, with their chains. */
  readonly certificates: readonly string[];
  /** PEM, at the place of their certificate. */
  readonly keys: readonly { readonly pem: string; readonly passphrase?: string }[];
  /** Those of TLS 1.3 among them. */
  readonly ciphers: string;
  readonly honorCipherOrder: boolean;
  readonly minVersion: SecureVersion;
  readonly maxVersion: SecureVersion;
  /** OpenSSL's `SSL_OP_…` bits. */
  readonly secureOptions: number;
  readonly curves: string;
  readonly dhParam?: string;
  readonly signatureAlgorithms?: string;
  readonly sessionCache: SessionCache;
  readonly sessionTimeoutSeconds: number;
  /** 48 bytes in base64; absent: the one that the workers share. */
  readonly ticketKey?: string;
  readonly verify: VerifyClient;
  readonly verifyDepth: number;
  /** PEM: what client certificates are verified with. */
  readonly authorities: readonly string[];
  readonly crl?: string;
  readonly rejectHandshake: boolean;
}

/** What `node:tls` makes a context of. */
export function secureContextOptions(plan: TlsPlan): SecureContextOptions {
  const { dhParam, signatureAlgorithms, crl } = plan;
  return {
    cert: [...plan.certificates],
    key: plan.keys.map(({ pem, passphrase }) => ({ pem, ...(passphrase !== undefined && { passphrase }) })),
    ciphers: plan.ciphers,
    honorCipherOrder: plan.honorCipherOrder,
    minVersion: plan.minVersion,
    maxVersion: plan.maxVersion,
    secureOptions: plan.secureOptions,
    ecdhCurve: plan.curves,
    sessionTimeout: plan.sessionTimeoutSeconds,
    // Without any of their own, client certificates must not be good because a public authority signed them.
    ca: [...plan.authorities],
    ...(dhParam !== undefined && { dhparam: dhParam }),
    ...(signatureAlgorithms !== undefined && { sigalgs: signatureAlgorithms }),
    ...(crl !== undefined && { crl }),
  };
}

/** Whether a password opens a key (or none is needed). Throws OpenSSL's reason when it does not. */
export function openKey(pem: string, passphrase?: string): ReturnType<typeof createPrivateKey> {
  return createPrivateKey({ key: pem, format: 'pem', ...(passphrase !== undefined && { passphrase }) });
}

/** What a client's certificate is verified against: where it is the same, the same clients are let in. */
export function verifierOf({ authorities, crl = '', verifyDepth }: TlsPlan): string {
  return [verifyDepth, crl, ...authorities].join('\n');
}
