import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { isObject, parseJson } from '../../json.ts';
import type { CertificatePair } from '../shared-certificates.ts';

/** What gateways tell each other. */
export type AllianceEntry =
  | { readonly kind: 'token'; readonly name: string; readonly keyAuthorization: string }
  | { readonly kind: 'challenge'; readonly name: string; readonly pair: CertificatePair }
  | {
      readonly kind: 'certificate';
      readonly issuer: string;
      readonly name: string;
      readonly pair: CertificatePair;
    };

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Seals entries with keys that are made from the secret of a cluster: whoever reads the store learns neither keys, nor
 * tokens, nor names. An entry fits only under its own key.
 */
export class SealedEntries {
  readonly #cipherKey: Buffer;
  readonly #nameKey: Buffer;

  constructor(secret: string) {
    const derived = (purpose: string): Buffer =>
      Buffer.from(hkdfSync('sha256', secret, '', `gw acme ${purpose}`, KEY_BYTES));
    this.#cipherKey = derived('entries');
    this.#nameKey = derived('names');
  }

  /** The key of an entry in the store. */
  keyOf(kind: AllianceEntry['kind'], name: string, issuer = ''): string {
    const text = JSON.stringify([kind, issuer, name]);
    return createHmac('sha256', this.#nameKey).update(text).digest('base64url');
  }

  seal(key: string, entry: AllianceEntry): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#cipherKey, nonce).setAAD(Buffer.from(key));
    const sealed = [nonce, cipher.update(JSON.stringify(entry)), cipher.final(), cipher.getAuthTag()];
    return Buffer.concat(sealed).toString('base64url');
  }

  /** Opens an entry; `undefined`: it was not sealed with this secret, or for another key. */
  open(key: string, text: string): AllianceEntry | undefined {
    const bytes = Buffer.from(text, 'base64url');
    if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined;
    try {
      const decipher = createDecipheriv(CIPHER, this.#cipherKey, bytes.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      });
      decipher.setAAD(Buffer.from(key)).setAuthTag(bytes.subarray(-TAG_BYTES));
      const opened = [decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()];
      return entryOf(parseJson(Buffer.concat(opened).toString()));
    } catch {
      return undefined;
    }
  }
}

function entryOf(json: unknown): AllianceEntry | undefined {
  if (!isObject(json)) return undefined;
  const { kind, name, issuer, keyAuthorization, pair } = json;
  if (typeof name !== 'string') return undefined;
  if (kind === 'token')
    return typeof keyAuthorization === 'string' ? { kind, name, keyAuthorization } : undefined;
  const read = pairOf(pair);
  if (!read) return undefined;
  if (kind === 'challenge') return { kind, name, pair: read };
  return kind === 'certificate' && typeof issuer === 'string'
    ? { kind, issuer, name, pair: read }
    : undefined;
}

function pairOf(json: unknown): CertificatePair | undefined {
  if (!isObject(json)) return undefined;
  const { chain, key } = json;
  return typeof chain === 'string' && typeof key === 'string' ? { chain, key } : undefined;
}
