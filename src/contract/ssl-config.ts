/** A TLS version as `ssl_protocols` names it. */
export type TlsVersion = 'SSLv2' | 'SSLv3' | 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3';

/** `ssl_session_cache`: `none` and `off` keep nothing; the others keep so many sessions, a shared one by its name. */
export type SessionCache = 'off' | 'none' | { readonly name: string; readonly sessions: number };

/** `ssl_verify_client`. */
export type VerifyClient = 'off' | 'on' | 'optional' | 'optional_no_ca';

/** A file, as written and as an absolute path: messages name the one or the other, as nginx does. */
export interface FileName {
  readonly text: string;
  readonly path: string;
}

/** The TLS of a server (nginx ngx_http_ssl_module). */
export interface SslConfig {
  /** `ssl on`: every `listen` of the server speaks TLS. */
  readonly enabled: boolean;
  readonly certificates?: readonly FileName[];
  readonly keys?: readonly FileName[];
  readonly passwordFile?: FileName;
  readonly protocols: readonly TlsVersion[];
  readonly ciphers: string;
  readonly preferServerCiphers: boolean;
  readonly curves: string;
  readonly dhParam?: FileName;
  readonly commands?: readonly (readonly [name: string, value: string])[];
  readonly sessionCache: SessionCache;
  readonly sessionTimeoutMs: number;
  readonly sessionTickets: boolean;
  readonly ticketKeys?: readonly FileName[];
  readonly clientCertificate?: FileName;
  readonly trustedCertificate?: FileName;
  readonly verifyClient: VerifyClient;
  readonly verifyDepth: number;
  readonly crl?: FileName;
  readonly rejectHandshake: boolean;
  readonly ocsp: 'on' | 'off' | 'leaf';
}

/** Under this key `provided` has the key that all workers encrypt session tickets with. */
export const TICKET_KEY = 'ssl ticket key';
