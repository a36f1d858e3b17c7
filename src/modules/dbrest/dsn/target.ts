/** `sslmode` of libpq, in its sense. */
export const SSL_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const;
export type SslMode = (typeof SSL_MODES)[number];

/** One address of a server; `host` starting with `/` is the directory of a Unix socket. */
export interface Host {
  readonly host: string;
  readonly port: number;
}

/** Everything needed to connect, as plain data. Hosts are tried in order. */
export interface ConnectionTarget {
  readonly hosts: readonly Host[];
  /** Absent: the name of the operating system's user. */
  readonly user?: string;
  /** Absent: the same as the user. */
  readonly database?: string;
  readonly password?: string;
  readonly sslMode: SslMode;
  readonly sslRootCert?: string;
  readonly sslCert?: string;
  readonly sslKey?: string;
  readonly connectTimeoutMs: number;
  readonly options?: string;
  readonly applicationName: string;
  readonly keepAlive: boolean;
  readonly keepAliveIdleMs: number;
}

/** What `dbrest_pass` names: a server, or the embedded one with its data in an absolute directory. */
export type DbrestPass =
  | { readonly kind: 'server'; readonly target: ConnectionTarget }
  | { readonly kind: 'embedded'; readonly dir: string };

/** A fault of a connection string: what is wrong, where in the text (UTF-16 offsets), and perhaps what was expected. */
export interface DsnFault {
  readonly message: string;
  readonly start: number;
  readonly end: number;
  readonly hint?: string;
}

/** One `keyword=value` with its place in the text. */
export interface DsnPair {
  readonly keyword: string;
  readonly value: string;
  readonly start: number;
  readonly end: number;
}

/** Thrown inside this folder only; `readDsn` turns it into a `DsnFault`. */
export class DsnError extends Error implements DsnFault {
  readonly start: number;
  readonly end: number;
  readonly hint?: string;

  constructor(message: string, { start, end }: { start: number; end: number }, hint?: string) {
    super(message);
    this.start = start;
    this.end = end;
    if (hint !== undefined) this.hint = hint;
  }
}
