import { readFile } from 'node:fs/promises';
import type { ConnectionOptions } from 'node:tls';
import type { ConnectionTarget, Host } from '../dsn/index.ts';

/** One way to reach one host. */
export interface Attempt extends Host {
  readonly ssl: false | ConnectionOptions;
}

/** In order, every way that libpq's `sslmode` allows; Unix sockets never use TLS. Reads certificate files. */
export async function connectionAttempts(target: ConnectionTarget): Promise<Attempt[]> {
  const plain = (host: Host): Attempt => ({ ...host, ssl: false });
  const remote = target.hosts.some(({ host }) => !host.startsWith('/'));
  const ssl = target.sslMode === 'disable' || !remote ? {} : await sslOptions(target);
  const secure = (host: Host): Attempt => ({ ...host, ssl });
  return target.hosts.flatMap((host) => {
    if (host.host.startsWith('/') || target.sslMode === 'disable') return [plain(host)];
    if (target.sslMode === 'prefer') return [secure(host), plain(host)];
    if (target.sslMode === 'allow') return [plain(host), secure(host)];
    return [secure(host)];
  });
}

/** libpq: `require` checks the certificate only when a root is given; only `verify-full` checks the name. */
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
