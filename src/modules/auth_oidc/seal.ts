import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const IV_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;

/** Encrypts texts so that they can be read, and were made, only with the same secret (AES-256-GCM). */
export class Seal {
  readonly #key: Uint8Array;

  /** `purpose` separates keys that are derived from the same secret (RFC 5869). */
  constructor(secret: string | Uint8Array, purpose: string) {
    this.#key = new Uint8Array(hkdfSync('sha256', secret, '', purpose, KEY_BYTES));
  }

  seal(text: string): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key, iv);
    const sealed = [iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()];
    return Buffer.concat(sealed).toString('base64url');
  }

  /** Returns the text; `undefined` if it was sealed with another secret, or not at all. */
  open(sealed: string): string | undefined {
    const bytes = Buffer.from(sealed, 'base64url');
    if (bytes.length < IV_BYTES + TAG_BYTES) return undefined;
    const end = bytes.length - TAG_BYTES;
    const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, IV_BYTES), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAuthTag(bytes.subarray(end));
    try {
      return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES, end)), decipher.final()]).toString();
    } catch {
      return undefined;
    }
  }
}
