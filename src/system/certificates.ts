import { createPrivateKey, X509Certificate } from 'node:crypto';
import { type DetailedPeerCertificate, createSecureContext, type SecureContextOptions } from 'node:tls';
import { readFileSync, statSync } from 'node:fs';
import { systemReason } from './failure.ts';
import type { ReadFile } from './files.ts';

/** OpenSSL 3's number and message (X509_verify_cert_error_string) of each verification error, by the code of node:tls. */
const VERIFY_ERRORS: Readonly<Record<string, readonly [number: number, message: string]>> = {
  UNABLE_TO_GET_ISSUER_CERT: [2, 'unable to get issuer certificate'],
  UNABLE_TO_GET_CRL: [3, 'unable to get certificate CRL'],
  CERT_SIGNATURE_FAILURE: [7, 'certificate signature failure'],
  CRL_SIGNATURE_FAILURE: [8, 'CRL signature failure'],
  CERT_NOT_YET_VALID: [9, 'certificate is not yet valid'],
  CERT_HAS_EXPIRED: [10, 'certificate has expired'],
  CRL_NOT_YET_VALID: [11, 'CRL is not yet valid'],
  CRL_HAS_EXPIRED: [12, 'CRL has expired'],
  DEPTH_ZERO_SELF_SIGNED_CERT: [18, 'self-signed certificate'],
  SELF_SIGNED_CERT_IN_CHAIN: [19, 'self-signed certificate in certificate chain'],
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: [20, 'unable to get local issuer certificate'],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: [21, 'unable to verify the first certificate'],
  CERT_CHAIN_TOO_LONG: [22, 'certificate chain too long'],
  CERT_REVOKED: [23, 'certificate revoked'],
  PATH_LENGTH_EXCEEDED: [25, 'path length constraint exceeded'],
  INVALID_PURPOSE: [26, 'unsuitable certificate purpose'],
  CERT_UNTRUSTED: [27, 'certificate not trusted'],
  CERT_REJECTED: [28, 'certificate rejected'],
  INVALID_CA: [79, 'invalid CA certificate'],
};

/** Codes of node:tls for certificates that no known authority has signed. */
export const UNKNOWN_AUTHORITY: ReadonlySet<string> = new Set([
  'UNABLE_TO_GET_ISSUER_CERT',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** Returns the number and the message of a verification error; an unknown code is its own message. */
export function verifyError(code: string): { readonly number: number; readonly message: string } {
  const [number, message] = VERIFY_ERRORS[code] ?? [1, code];
  return { number, message };
}

/** Counts the certificates between a peer's own and the root, which is its own issuer: OpenSSL's depth. */
export function intermediatesOf(leaf: DetailedPeerCertificate): number {
  let count = 0;
  // The last certificate of an incomplete chain has no issuer, contrary to the type.
  for (
    let at = leaf.issuerCertificate as DetailedPeerCertificate | undefined;
    at?.issuerCertificate && at.issuerCertificate !== at;
    at = at.issuerCertificate
  )
    count++;
  return count;
}

/** Returns the URL of the OCSP responder that a certificate names. */
export function ocspResponderOf({ infoAccess }: X509Certificate): string | undefined {
  return /^OCSP - URI:(http:\/\/\S+)$/im.exec(infoAccess ?? '')?.[1];
}

/** Splits a PEM text into its parts with this label: of some kinds node:tls reads only the first in a text. */
export function splitPem(pem: string, label: 'CERTIFICATE' | 'X509 CRL'): readonly string[] {
  const begin = new RegExp(`-----BEGIN [A-Z0-9 ]*${label}-----`, 'g');
  const end = new RegExp(`-----END [A-Z0-9 ]*${label}-----`, 'g');
  const parts: string[] = [];
  for (let found = begin.exec(pem); found; found = begin.exec(pem)) {
    end.lastIndex = begin.lastIndex;
    // What has no end has none further on either: to look again would take quadratic time.
    if (!end.test(pem)) break;
    parts.push(pem.slice(found.index, end.lastIndex));
    begin.lastIndex = end.lastIndex;
  }
  return parts.length > 0 ? parts : [pem];
}

/** Returns the passphrase that decrypts a key; `undefined` if the key needs none or no passphrase does. */
export function passphraseOf(pem: string, passphrases: readonly string[]): string | undefined {
  return passphrases.find((passphrase) => {
    try {
      return createPrivateKey({ key: pem, passphrase }).type === 'private';
    } catch {
      return false;
    }
  });
}

/** A key in PEM and its passphrase. */
export interface Key {
  readonly pem: string;
  readonly passphrase?: string;
}

/** The absolute path of a file. */
interface NamedPath {
  readonly path: string;
}

/** A fault of a TLS setting in nginx's words. */
export class TlsFault extends Error {
  /** Slug of the rule of `gw check` for the fault. */
  readonly rule: string | undefined;

  constructor(message: string, rule?: string) {
    super(message);
    this.rule = rule;
  }
}

/** Reads the text of a file; `what` gives the beginning of the message on failure. */
export function readText(
  { path }: NamedPath,
  what: (path: string) => string,
  read: ReadFile = readFileSync,
): string {
  try {
    return read(path).toString();
  } catch (error) {
    throw new TlsFault(`${what(path)} failed (${systemReason(error)})`);
  }
}

/** Reads a certificate with its chain. */
export function readCertificate(file: NamedPath, read?: ReadFile): string {
  const pem = readText(file, (path) => `cannot load certificate "${path}": BIO_new_file()`, read);
  try {
    certificateOf(pem);
    return pem;
  } catch (error) {
    throw new TlsFault(
      `cannot load certificate "${file.path}": PEM_read_bio_X509_AUX() failed (SSL: ${reasonOf(error)})`,
    );
  }
}

const certificateOf = (pem: string): X509Certificate => new X509Certificate(pem);

/** Reads the key of a certificate and decrypts it with one of the passwords if necessary. */
export function readKey(
  file: NamedPath,
  { certificate, passwords, read }: { certificate: string; passwords: readonly string[]; read?: ReadFile },
): Key {
  const pem = readText(file, (path) => `cannot load certificate key "${path}": BIO_new_file()`, read);
  let fault: unknown;
  for (const passphrase of [undefined, ...passwords]) {
    try {
      const key = openKey(pem, passphrase);
      if (!certificateOf(certificate).checkPrivateKey(key)) {
        throw new TlsFault(
          `SSL_CTX_use_PrivateKey("${file.path}") failed (SSL: key values mismatch)`,
          'key-mismatch',
        );
      }
      return passphrase === undefined ? { pem } : { pem, passphrase };
    } catch (error) {
      if (error instanceof TlsFault) throw error;
      fault = error;
    }
  }
  throw new TlsFault(
    `cannot load certificate key "${file.path}": PEM_read_bio_PrivateKey() failed (SSL: ${reasonOf(fault)})`,
  );
}

/** Decrypts a key with a password, if it needs one. Throws OpenSSL's reason if that fails. */
export function openKey(pem: string, passphrase?: string): ReturnType<typeof createPrivateKey> {
  return createPrivateKey({ key: pem, format: 'pem', ...(passphrase !== undefined && { passphrase }) });
}

/** Checks that OpenSSL accepts the options of a context. Otherwise throws with a message that begins with `what`. */
export function tryContext(what: string, options: SecureContextOptions): void {
  try {
    createSecureContext(options);
  } catch (error) {
    throw new TlsFault(`${what} failed (SSL: ${reasonOf(error)})`);
  }
}

/** Returns OpenSSL's reason without its error code. */
function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replace(/^error:[\dA-F]+:/i, '');
}

/** `ssl_certificate_cache`: how long the contents of files with variables in their names are kept. */
export interface CertificateCache {
  readonly max: number;
  /** Files that are unused for this time are dropped. */
  readonly inactiveMs: number;
  /** The interval at which files are checked for changes. */
  readonly validMs: number;
}

/** One version of the file of a certificate or key. */
export interface FileVersion {
  readonly path: string;
  /** Differs if the file has another name or has changed. */
  readonly id: string;
  /** Returns the content; throws the system's error. */
  text(): string;
}

interface KeptFile {
  readonly id: string;
  readonly content: string;
  readonly readMs: number;
  usedMs: number;
}

/** Reads the files of certificates and keys when they are used. */
class CertificateFiles {
  readonly #cache: CertificateCache | undefined;
  /** The most recently used file is the last. */
  readonly #kept = new Map<string, KeptFile>();

  constructor(cache: CertificateCache | undefined) {
    this.#cache = cache;
  }

  /** A certificate and its key must have the same `nowMs`: otherwise only one of them might be new. */
  version(path: string, nowMs: number): FileVersion {
    const cache = this.#cache;
    if (!cache) return versionOf(path);
    const known = this.#kept.get(path);
    this.#kept.delete(path);
    const isUsed = known && nowMs - known.usedMs <= cache.inactiveMs;
    if (isUsed && nowMs - known.readMs <= cache.validMs) return this.#keep(path, { ...known, usedMs: nowMs });
    const version = versionOf(path);
    if (known?.id === version.id) return this.#keep(path, { ...known, readMs: nowMs, usedMs: nowMs });
    const content = contentOf(version);
    // As in nginx, an encrypted key is read each time.
    if (content === undefined || content.includes('ENCRYPTED')) return version;
    this.#drop(cache, nowMs);
    return this.#keep(path, { id: version.id, content, readMs: nowMs, usedMs: nowMs });
  }

  #keep(path: string, file: KeptFile): FileVersion {
    this.#kept.set(path, file);
    return { path, id: file.id, text: () => file.content };
  }

  /** Drops unused files, and makes room for one file. */
  #drop({ max, inactiveMs }: CertificateCache, nowMs: number): void {
    for (const [path, { usedMs }] of this.#kept) {
      if (nowMs - usedMs <= inactiveMs && this.#kept.size < max) return;
      this.#kept.delete(path);
    }
  }
}

function versionOf(path: string): FileVersion {
  const found = statSync(path, { throwIfNoEntry: false });
  const state = found ? `${found.mtimeMs}/${found.size}/${found.ino}` : '';
  return { path, id: `${path} ${state}`, text: () => readFileSync(path, 'utf8') };
}

/** Returns the content; `undefined` if it cannot be read, which is reported when it is used. */
function contentOf(version: FileVersion): string | undefined {
  try {
    return version.text();
  } catch {
    return undefined;
  }
}

const UNCACHED = new CertificateFiles(undefined);
const byCache = new WeakMap<CertificateCache, CertificateFiles>();

/** Returns the files of a cache, shared by all blocks that inherit the directive. `off`: files are checked each time. */
export function certificateFiles(cache: CertificateCache | 'off'): Pick<CertificateFiles, 'version'> {
  if (cache === 'off') return UNCACHED;
  const known = byCache.get(cache) ?? new CertificateFiles(cache);
  byCache.set(cache, known);
  return known;
}
