import { createHash } from 'node:crypto';
import type { SecureContextOptions, SecureVersion } from 'node:tls';
import type { OcspCache, SessionCache, SslConfig, VerifyClient } from '../../contract/index.ts';
import type { Key } from '../../system/index.ts';

/** The TLS settings of a server with the content of all files, which are read once per load. */
export interface TlsPlan {
  /** PEM texts with their chains. */
  readonly certificates: readonly string[];
  /** The files of the certificates as written. */
  readonly names: readonly string[];
  /** PEM texts in the order of the certificates. */
  readonly keys: readonly Key[];
  /** The file names, with variables, of pairs that are read in each handshake. */
  readonly named: readonly { readonly certificate: string; readonly key: string }[];
  /** For the keys of `named`. */
  readonly passwords: readonly string[];
  readonly certificateCache: SslConfig['certificateCache'];
  /** An OCSP response in base64. */
  readonly staple?: string;
  /** OCSP responses are fetched and stapled. `issuers`: PEM texts of possible issuers of the certificates. */
  readonly stapling?: { readonly responder: string | undefined; readonly issuers: readonly string[] };
  /** Set if the status of client certificates is checked. */
  readonly ocsp?: {
    readonly mode: 'on' | 'leaf';
    readonly responder: string | undefined;
    readonly cache: OcspCache;
  };
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
  /** PEM texts of revocation lists. */
  readonly crls: readonly string[];
  readonly rejectHandshake: boolean;
  /** Set in the plan of a handshake, with the pairs that were read for it: the context of the plan without them. */
  readonly sessionContext?: string;
}

/** The options of a `node:tls` context. */
export function secureContextOptions(plan: TlsPlan): SecureContextOptions {
  const { dhParam, signatureAlgorithms, crls } = plan;
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
    ...(crls.length > 0 && { crl: [...crls] }),
  };
}

const verifiers = new WeakMap<TlsPlan, string>();

/** Returns a digest of the settings for client certificates. Servers with equal digests accept the same clients. */
export function verifierOf(plan: TlsPlan): string {
  const known = verifiers.get(plan);
  if (known !== undefined) return known;
  const { authorities, crls, verifyDepth, ocsp } = plan;
  const status = ocsp && [ocsp.mode, ocsp.responder];
  const verifier = digestOf([verifyDepth, authorities, crls, status]);
  verifiers.set(plan, verifier);
  return verifier;
}

/**
 * Returns a digest of everything that a resumed session skips: the server's certificates, by file name where the name
 * has variables (nginx), and the verification of the client.
 */
export function sessionContextOf(plan: TlsPlan): string {
  return plan.sessionContext ?? digestOf([plan.certificates, plan.named, plan.verify, verifierOf(plan)]);
}

function digestOf(parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
}

/** Returns what uWebSockets.js shows clients, which is all that it carries out of a plan. */
export function shownOf({ certificates, keys, ciphers, rejectHandshake }: TlsPlan): unknown {
  return [certificates, keys, ciphers, rejectHandshake];
}

/** Returns the certificates of files that servers show, in PEM, by the name of the file as written. */
export function certificatesOfFiles(
  servers: readonly { readonly tls?: TlsPlan | undefined }[],
): Map<string, string> {
  return new Map(
    servers.flatMap(
      ({ tls }) => tls?.certificates.map((pem, index) => [tls.names[index] ?? '', pem] as const) ?? [],
    ),
  );
}

/** Tells whether a server can take part in a handshake, if only to reject it. */
export function canShakeHands(tls: TlsPlan | undefined): tls is TlsPlan {
  return tls !== undefined && (tls.certificates.length + tls.named.length > 0 || tls.rejectHandshake);
}
