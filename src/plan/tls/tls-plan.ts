import { createPrivateKey } from 'node:crypto';
import type { SecureContextOptions, SecureVersion } from 'node:tls';
import type { SessionCache, VerifyClient } from '../../contract/index.ts';

/** The TLS settings of a server with the content of all files, which are read once per load. */
export interface TlsPlan {
  /** PEM texts with their chains. */
  readonly certificates: readonly string[];
  /** PEM texts in the order of the certificates. */
  readonly keys: readonly { readonly pem: string; readonly passphrase?: string }[];
  /** Cipher suites, those of TLS 1.3 included. */
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
  /** 48 bytes in base64; default: a key that the workers share. */
  readonly ticketKey?: string;
  readonly verify: VerifyClient;
  readonly verifyDepth: number;
  /** PEM texts of the authorities for client certificates. */
  readonly authorities: readonly string[];
  readonly crl?: string;
  readonly rejectHandshake: boolean;
}

/** The options of a `node:tls` context. */
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
    // An empty list is passed on: otherwise certificates of public authorities would be accepted.
    ca: [...plan.authorities],
    ...(dhParam !== undefined && { dhparam: dhParam }),
    ...(signatureAlgorithms !== undefined && { sigalgs: signatureAlgorithms }),
    ...(crl !== undefined && { crl }),
  };
}

/** Decrypts a key with a password, if it needs one. Throws OpenSSL's reason if that fails. */
export function openKey(pem: string, passphrase?: string): ReturnType<typeof createPrivateKey> {
  return createPrivateKey({ key: pem, format: 'pem', ...(passphrase !== undefined && { passphrase }) });
}

/** A key for the settings that verify client certificates: servers with the same key accept the same clients. */
export function verifierOf({ authorities, crl = '', verifyDepth }: TlsPlan): string {
  return [verifyDepth, crl, ...authorities].join('\n');
}
