import type { NamedFile } from '../http/index.ts';
import type { CertificateCache } from '../system/index.ts';

/** A TLS version as `ssl_protocols` names it. */
export type TlsVersion = 'SSLv2' | 'SSLv3' | 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3';

/**
 * `ssl_session_cache`: `none` and `off` store nothing; otherwise the number of sessions, and the name of a shared
 * cache.
 */
export type SessionCache = 'off' | 'none' | { readonly name: string; readonly sessions: number };

/** `ssl_verify_client`. */
export type VerifyClient = 'off' | 'on' | 'optional' | 'optional_no_ca';

/** A file as written and as an absolute path. As in nginx, some messages show one, some the other. */
export interface FileName {
  readonly text: string;
  readonly path: string;
  /** The name contains variables: the file is read in each handshake. */
  readonly named?: NamedFile;
}

/** The cache for the statuses of client certificates, one per worker. */
export interface OcspCache {
  readonly name: string;
  /** 0: nothing is cached. */
  readonly entries: number;
}

/** The TLS settings of a server (nginx ngx_http_ssl_module). */
export interface SslConfig {
  /** `ssl on`: every `listen` of the server speaks TLS. */
  readonly enabled: boolean;
  readonly certificates?: readonly FileName[];
  readonly keys?: readonly FileName[];
  readonly passwordFile?: FileName;
  /** For files whose names contain variables. */
  readonly certificateCache: CertificateCache | 'off';
  readonly protocols: readonly TlsVersion[];
  readonly ciphers: string;
  readonly preferServerCiphers: boolean;
  readonly curves: string;
  readonly dhParam?: FileName;
  /** The commands; `file` is the value read as a file name, for commands that take one. */
  readonly commands?: readonly (readonly [name: string, value: string, file: FileName])[];
  readonly sessionCache: SessionCache;
  readonly sessionTimeoutMs: number;
  readonly sessionTickets: boolean;
  readonly ticketKeys?: readonly FileName[];
  /** An OCSP response in DER, which is stapled unchanged. */
  readonly staplingFile?: FileName;
  readonly clientCertificate?: FileName;
  readonly trustedCertificate?: FileName;
  readonly verifyClient: VerifyClient;
  readonly verifyDepth: number;
  readonly crl?: FileName;
  readonly rejectHandshake: boolean;
  readonly stapling: boolean;
  readonly staplingVerify: boolean;
  readonly staplingResponder?: string;
  readonly ocsp: 'on' | 'off' | 'leaf';
  readonly ocspResponder?: string;
  readonly ocspCache: OcspCache;
}

/** The key under which `provided` returns the encryption key of session tickets, shared by all workers. */
export const TICKET_KEY = 'ssl ticket key';
