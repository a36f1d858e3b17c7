import { createSecureContext } from 'node:tls';
import { LRUCache } from 'lru-cache';
import { type LoadedFile, passphrasesIn, type TlsConfig } from '../client/index.ts';
import { compileNamedFile, type Exchange, HttpFault } from '../http/index.ts';
import { certificateFiles, type FileVersion, passphraseOf, systemReason } from '../system/index.ts';
import type { ForwardingBuild } from './forwarding-build.ts';

/** The certificate that is shown to an upstream, where its file name depends on the request. */
export interface ClientCertificate {
  /** PEM texts. */
  readonly cert: string;
  readonly key: string;
  /** Changes if a file gets another name or another content. */
  readonly id: string;
}

/** The directives that determine the certificate. */
export type CertificateConfig = Pick<
  TlsConfig,
  'sslCertificate' | 'sslCertificateKey' | 'sslCertificateCache' | 'sslPasswordFile'
>;

/** Maximum number of pairs that are kept, each until its files change. */
const MAX_KEPT = 1_000;

/**
 * Compiles `proxy_ssl_certificate` and its key if one of them contains variables; otherwise `undefined`. The compiled
 * function returns `undefined` if the certificate's name is empty (nginx). A file that cannot be read gives a 500.
 */
export function compileClientCertificate(
  {
    sslCertificate,
    sslCertificateKey,
    sslCertificateCache = 'off',
    sslPasswordFile,
  }: Partial<CertificateConfig>,
  build: Pick<ForwardingBuild, 'value'>,
): ((x: Exchange) => ClientCertificate | undefined) | undefined {
  if (!sslCertificate || !sslCertificateKey) return undefined;
  if (!sslCertificate.named && !sslCertificateKey.named) return undefined;
  const certificatePath = compilePath(sslCertificate, build);
  const keyPath = compilePath(sslCertificateKey, build);
  const passphrases = passphrasesIn(sslPasswordFile);
  const files = certificateFiles(sslCertificateCache);
  const kept = new LRUCache<string, ClientCertificate>({ max: MAX_KEPT });
  return (x) => {
    const path = certificatePath(x);
    if (path === '') return undefined;
    const now = Date.now();
    const [certificate, key] = [files.version(path, now), files.version(keyPath(x), now)];
    const id = `${certificate.id} ${key.id}`;
    const known = kept.get(id) ?? { id, ...read([certificate, key], passphrases) };
    kept.set(id, known);
    return known;
  };
}

function compilePath(
  { path, named }: LoadedFile,
  build: Pick<ForwardingBuild, 'value'>,
): (x: Exchange) => string {
  return named ? compileNamedFile(named, build) : () => path;
}

function read(
  [certificate, key]: readonly [FileVersion, FileVersion],
  passphrases: readonly string[],
): Pick<ClientCertificate, 'cert' | 'key'> {
  const pair = { cert: textOf(certificate, ''), key: textOf(key, ' key') };
  const passphrase = passphraseOf(pair.key, passphrases);
  try {
    createSecureContext({ ...pair, ...(passphrase !== undefined && { passphrase }) });
    return pair;
  } catch (error) {
    const { message } = error as Error;
    throw new HttpFault(500, `cannot load certificate "${certificate.path}": (SSL: ${message})`);
  }
}

function textOf(file: FileVersion, what: '' | ' key'): string {
  try {
    return file.text();
  } catch (error) {
    const reason = systemReason(error as Error);
    throw new HttpFault(
      500,
      `cannot load certificate${what} "${file.path}": BIO_new_file() failed (${reason})`,
    );
  }
}
