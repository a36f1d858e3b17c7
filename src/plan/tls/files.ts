import type { FileName } from '../../contract/index.ts';
import { type ReadFile, readText, systemFailure, systemReason, TlsFault } from '../../system/index.ts';

/** Reads a file with one password per line. */
export function readPasswords(file: FileName | undefined, read?: ReadFile): readonly string[] {
  if (!file) return [];
  return readText(file, (path) => `open() "${path}"`, read)
    .split(/\r?\n/)
    .filter((line) => line !== '');
}

/** Returns the OCSP response in a file, in base64. */
export function readStaple(file: FileName, read: ReadFile): string {
  try {
    return read(file.path).toString('base64');
  } catch (error) {
    throw new TlsFault(`BIO_new_file("${file.path}") failed (${systemReason(error)})`);
  }
}

/** Returns the ticket key in the form of node:tls, in base64: name, HMAC key, AES key of 16 bytes each. */
export function readTicketKey(file: FileName, read: ReadFile): string {
  let bytes: Buffer;
  try {
    bytes = read(file.path);
  } catch (error) {
    throw new TlsFault(systemFailure('open', file.path, error));
  }
  if (bytes.length !== 48 && bytes.length !== 80) throw new TlsFault(`"${file.path}" must be 48 or 80 bytes`);
  // nginx's files have a name, AES key and HMAC key of 16 bytes each, or a name, HMAC key and AES key of 16, 32 and 32.
  const [hmacAt, aesAt] = bytes.length === 48 ? [32, 16] : [16, 48];
  const parts = [0, hmacAt, aesAt].map((at) => bytes.subarray(at, at + 16));
  return Buffer.concat(parts).toString('base64');
}
