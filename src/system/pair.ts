import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { systemReason } from './failure.ts';
import type { ReadFile } from './read-once.ts';

/** A key in PEM, and what decrypts it. */
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

/** The text of a file; `what` gives the beginning of the message on failure. */
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

/** Checks that OpenSSL accepts options of a context; `what` begins the message if it does not. */
export function tryContext(what: string, options: SecureContextOptions): void {
  try {
    createSecureContext(options);
  } catch (error) {
    throw new TlsFault(`${what} failed (SSL: ${reasonOf(error)})`);
  }
}

/** OpenSSL's reason without its error code. */
function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replace(/^error:[\dA-F]+:/i, '');
}
