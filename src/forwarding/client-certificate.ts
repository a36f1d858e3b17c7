import { readFileSync, statSync } from 'node:fs';
import { isAbsolute, join, normalize } from 'node:path';
import { createSecureContext } from 'node:tls';
import type { LoadedFile, TlsConfig } from '../client/index.ts';
import { type Exchange, HttpFault } from '../http/index.ts';
import { systemReason } from '../system/index.ts';
import type { ForwardingBuild } from './build.ts';

/** The certificate that an upstream is shown, where its name depends on the request. */
export interface ClientCertificate {
  /** PEM texts. */
  readonly cert: string;
  readonly key: string;
  /** Another one if a file has another name or has changed. */
  readonly id: string;
}

/** The directives that it depends on. */
export type CertificateConfig = Pick<TlsConfig, 'sslCertificate' | 'sslCertificateKey' | 'sslPasswordFile'>;

/** So many pairs are kept, for as long as their files do not change. */
const MAX_KEPT = 1_000;

/**
 * Compiles `proxy_ssl_certificate` and its key where one of them contains variables; `undefined` otherwise. The result is
 * `undefined` for a request whose certificate has an empty name (nginx). A file that cannot be read is a 500.
 */
export function compileClientCertificate(
  { sslCertificate, sslCertificateKey, sslPasswordFile }: Partial<CertificateConfig>,
  build: Pick<ForwardingBuild, 'value'>,
): ((x: Exchange) => ClientCertificate | undefined) | undefined {
  if (!sslCertificate || !sslCertificateKey) return undefined;
  if (!sslCertificate.named && !sslCertificateKey.named) return undefined;
  const certificatePath = compilePath(sslCertificate, build);
  const keyPath = compilePath(sslCertificateKey, build);
  const [passphrase] = sslPasswordFile?.text.split('\n').filter(Boolean) ?? [];
  const kept = new Map<string, ClientCertificate>();
  return (x) => {
    const [certificate, key] = [certificatePath(x), keyPath(x)];
    if (certificate === '') return undefined;
    const id = `${certificate} ${stateOf(certificate)} ${key} ${stateOf(key)}`;
    const known = kept.get(id) ?? { id, ...read([certificate, key], passphrase) };
    // The one that was used last comes last.
    kept.delete(id);
    kept.set(id, known);
    for (const oldest of kept.keys()) if (kept.size > MAX_KEPT) kept.delete(oldest);
    return known;
  };
}

/**
 * Gives the path for a request, '' for an empty name. Values of variables never lead upwards: a client may have sent them.
 */
function compilePath(
  { path, named }: LoadedFile,
  build: Pick<ForwardingBuild, 'value'>,
): (x: Exchange) => string {
  if (!named) return () => path;
  const render = build.value(named.value);
  return (x) => {
    const text = render(x);
    if (text === '') return '';
    if (/(?:^|\/)\.\.(?:\/|$)|\0/.test(text)) throw new HttpFault(500, `unsafe certificate name "${text}"`);
    return normalize(isAbsolute(text) ? text : join(named.directory, text));
  };
}

function stateOf(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  return found ? `${found.mtimeMs}/${found.size}/${found.ino}` : '';
}

function read(
  [certificate, key]: readonly [string, string],
  passphrase: string | undefined,
): Pick<ClientCertificate, 'cert' | 'key'> {
  const pair = { cert: textOf(certificate, ''), key: textOf(key, ' key') };
  try {
    createSecureContext({ ...pair, ...(passphrase !== undefined && { passphrase }) });
    return pair;
  } catch (error) {
    throw new HttpFault(500, `cannot load certificate "${certificate}": (SSL: ${(error as Error).message})`);
  }
}

function textOf(path: string, what: '' | ' key'): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const reason = systemReason(error as Error);
    throw new HttpFault(500, `cannot load certificate${what} "${path}": BIO_new_file() failed (${reason})`);
  }
}
