import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import type { Client, Connection } from 'pg';
import { MASK } from '../log/index.ts';
import type { ConnectionTarget, Host } from './dsn.ts';

/** The part of pg that is used. */
export type Pg = Pick<typeof import('pg'), 'Client' | 'Connection'>;

/** Members of pg's `Connection` that its type declarations leave out. */
interface WireConnection extends Connection {
  connect(portOrPath: number | string, host?: string): void;
  requestSsl(): void;
  cancel(processId: number, secretKey: number): void;
}

/** Members of pg's `Client` that its type declarations leave out. */
export interface WireClient extends Client {
  readonly processID: number;
  readonly secretKey: number;
}

/** An error of the server, as reported by pg. */
export interface WireError extends Error {
  readonly code?: string;
  readonly severity?: string;
  readonly detail?: string;
  readonly hint?: string;
  /** The call stack within functions; absent if the statement itself failed. */
  readonly where?: string;
  /** The position in the statement; present if the statement could not be planned. */
  readonly position?: string;
  /** The function in PostgreSQL's source that raised it; independent of the language. */
  readonly routine?: string;
}

/** PostgreSQL has refused a statement and rolled back its transaction. (When a session ends, the severity is FATAL.) */
export function isStatementError(error: unknown): error is WireError {
  return error instanceof Error && 'severity' in error && error.severity === 'ERROR';
}

/** PostgreSQL does not translate these messages. Functions can raise the same text, so it alone proves nothing. */
const LOST_OBJECT = /^(?:cache lookup failed for|could not open relation with OID) /;

/** A statement met an object that was dropped, and perhaps created again, meanwhile. Its transaction is rolled back. */
export function hasLostObject({ code, message, routine }: Raised): boolean {
  return code === 'XX000' && routine !== 'exec_stmt_raise' && LOST_OBJECT.test(message);
}

interface Raised {
  readonly code?: string;
  readonly message: string;
  readonly routine?: string | undefined;
}

/** The first line of an error's message, without passwords. If all addresses of a host failed, there is only a code. */
export function publicMessage(
  { message, code = '' }: NodeJS.ErrnoException,
  { hosts, password }: ConnectionTarget,
): string {
  const line = (message || code).split('\n', 1)[0] ?? '';
  const secrets = [password, ...hosts.map((host) => host.password)].filter(Boolean) as string[];
  return secrets.reduce((text, secret) => text.replaceAll(secret, MASK), line);
}

/** One attempt to connect: a host, with or without TLS. */
export interface Attempt extends Host {
  readonly ssl: false | ConnectionOptions;
}

/** All connection attempts in the order of libpq's `sslmode`; Unix sockets never use TLS. Reads certificate files. */
export async function connectionAttempts(target: ConnectionTarget): Promise<Attempt[]> {
  const plain = (host: Host): Attempt => ({ ...host, ssl: false });
  const remote = target.hosts.some((host) => !addressOf(host).startsWith('/'));
  const ssl = target.sslMode === 'disable' || !remote ? {} : await sslOptions(target);
  const secure = (host: Host): Attempt => ({ ...host, ssl: { ...ssl, ...certifiedName(host) } });
  return target.hosts.flatMap((host) => {
    if (addressOf(host).startsWith('/') || target.sslMode === 'disable') return [plain(host)];
    if (target.sslMode === 'prefer') return [secure(host), plain(host)];
    if (target.sslMode === 'allow') return [plain(host), secure(host)];
    return [secure(host)];
  });
}

/** Returns the address to connect to. */
export function addressOf({ host, address = host }: Host): string {
  return address;
}

/** Options with the name that the certificate must have, if that is not the address of the connection. */
function certifiedName({ host, address }: Host): ConnectionOptions {
  if (address === undefined) return {};
  return isIP(host) === 0 ? { host, servername: host } : { host };
}

/**
 * As in libpq, `require` verifies the certificate only with a root certificate, and only `verify-full` checks the host
 * name.
 */
async function sslOptions({
  sslMode,
  sslRootCert,
  sslCert,
  sslKey,
}: ConnectionTarget): Promise<ConnectionOptions> {
  const read = async (path: string | undefined): Promise<Buffer | undefined> =>
    path === undefined ? path : readFile(path);
  const [ca, cert, key] = await Promise.all([read(sslRootCert), read(sslCert), read(sslKey)]);
  const verified = sslMode.startsWith('verify') || (sslMode === 'require' && ca !== undefined);
  return {
    rejectUnauthorized: verified,
    ...(sslMode !== 'verify-full' && { checkServerIdentity: () => undefined }),
    ...(ca && { ca }),
    ...(cert && { cert }),
    ...(key && { key }),
  };
}

/** No connection could be made within `connect_timeout`. */
export class ConnectTimeout extends Error {
  constructor({ host, port }: Attempt, timeoutMs: number, cause: unknown) {
    super(`no connection to ${host}:${port} within ${timeoutMs / 1000} s: timed out`, { cause });
  }
}

/** Returns whether an error of pg, or of the operating system, says that the server did not respond in time. */
export function hasTimedOut({ code, message }: NodeJS.ErrnoException): boolean {
  return code === 'ETIMEDOUT' || message === 'timeout expired' || message === 'Query read timeout';
}

const TIMEOUT_MS = 2_000;

/**
 * Cancels the running query of a client over a separate connection. Resolves when the server has closed that
 * connection, which it does after sending the signal: only then can a late cancel no longer hit the next query. Rejects
 * if the request could not be delivered.
 */
export function sendCancel(pg: Pg, attempt: Attempt, client: WireClient): Promise<void> {
  const { port, ssl } = attempt;
  const host = addressOf(attempt);
  return new Promise((resolve, reject) => {
    const connection = new pg.Connection({ ssl }) as WireConnection;
    const timer = setTimeout(() => connection.stream.destroy(new Error('cancel timed out')), TIMEOUT_MS);
    let sent = false;
    const send = (): void => {
      sent = true;
      connection.cancel(client.processID, client.secretKey);
    };
    connection.on('connect', () => (ssl ? connection.requestSsl() : send()));
    connection.on('sslconnect', send);
    connection.on('error', reject);
    connection.on('end', () => {
      clearTimeout(timer);
      if (sent) resolve();
      else reject(new Error('cancel connection closed'));
    });
    if (host.startsWith('/')) connection.connect(`${host}/.s.PGSQL.${port}`);
    else connection.connect(port, host);
  });
}
