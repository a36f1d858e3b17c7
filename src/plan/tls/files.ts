import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FileName } from '../../contract/index.ts';
import { type ReadFile, systemFailure, systemReason } from '../../system/index.ts';
import { openKey, type TlsPlan } from './tls-plan.ts';

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
  { path }: FileName,
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
export function readCertificate(file: FileName, read?: ReadFile): string {
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
  file: FileName,
  { certificate, passwords, read }: { certificate: string; passwords: readonly string[]; read?: ReadFile },
): TlsPlan['keys'][number] {
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

/** Reads a file with one password per line. */
export function readPasswords(file: FileName | undefined, read?: ReadFile): readonly string[] {
  if (!file) return [];
  return readText(file, (path) => `open() "${path}"`, read)
    .split(/\r?\n/)
    .filter((line) => line !== '');
}

/** The OCSP response of a file, in base64. */
export function readStaple(file: FileName, read: ReadFile): string {
  try {
    return read(file.path).toString('base64');
  } catch (error) {
    throw new TlsFault(`BIO_new_file("${file.path}") failed (${systemReason(error)})`);
  }
}

/** The ticket key in the form of node:tls, in base64: name, HMAC key, AES key of 16 bytes each. */
export function readTicketKey(file: FileName, read: ReadFile): string {
  let bytes: Buffer;
  try {
    bytes = read(file.path);
  } catch (error) {
    throw new TlsFault(systemFailure('open', file.path, error));
  }
  if (bytes.length !== 48 && bytes.length !== 80) throw new TlsFault(`"${file.path}" must be 48 or 80 bytes`);
  // nginx's files: name, AES key and HMAC key of 16 bytes each, or name, HMAC key and AES key of 16, 32 and 32 bytes.
  const [hmacAt, aesAt] = bytes.length === 48 ? [32, 16] : [16, 48];
  const parts = [0, hmacAt, aesAt].map((at) => bytes.subarray(at, at + 16));
  return Buffer.concat(parts).toString('base64');
}

/** OpenSSL's reason without its error code. */
export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replace(/^error:[\dA-F]+:/i, '');
}
