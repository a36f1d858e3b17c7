import { LRUCache } from 'lru-cache';
import { readObject, type TokenObject } from './json.ts';
import type { DecryptionKey, KeySet } from './keys.ts';
import type { TokenRefusal } from './refusal.ts';

/** The library that opens tokens. */
type Jose = Pick<typeof import('jose'), 'compactDecrypt' | 'importJWK'>;

/** What is in an encrypted token. */
interface OpenedToken {
  readonly header: TokenObject;
  readonly content: Buffer;
}

/** What is in a token, or why it was not opened. */
export type Opened = OpenedToken | OpeningRefusal | { readonly fault: string };

/** Why a token was not opened; `subject` as in `TokenRefusal`. */
export type OpeningRefusal =
  TokenRefusal | { readonly refused: 'not encrypted' | 'not opened'; readonly subject?: undefined };

/** An opened token, and the id of the set with the key that opened it. */
interface KnownToken {
  readonly keys: string;
  readonly opened: OpenedToken;
}

const KEY_ALGORITHMS: Readonly<Record<DecryptionKey['kty'], readonly string[]>> = {
  oct: ['A128KW', 'A192KW', 'A256KW', 'A128GCMKW', 'A192GCMKW', 'A256GCMKW', 'dir'],
  RSA: ['RSA-OAEP', 'RSA-OAEP-256', 'RSA-OAEP-384', 'RSA-OAEP-512'],
};
const CONTENT_ALGORITHMS = [
  'A128CBC-HS256',
  'A192CBC-HS384',
  'A256CBC-HS512',
  'A128GCM',
  'A192GCM',
  'A256GCM',
];

/** Characters of tokens and bytes of their content that are kept: whoever has a public key can make any number. */
const MOST_KEPT = 4_194_304;
/** Tokens that are opened at one time: RSA is slow, and whoever has the public key can send any number. */
const MOST_AT_ONCE = 64;
const MOST_CANDIDATES = 8;

/** Opens encrypted tokens (RFC 7516), in the form of the commercial nginx: no compression, no passwords. */
export class Decrypter {
  readonly #jose: Jose;
  readonly #known = new LRUCache<string, KnownToken>({
    maxSize: MOST_KEPT,
    sizeCalculation: ({ opened: { content } }, token) => content.length + token.length,
  });
  #busy = 0;

  constructor(jose: Jose) {
    this.#jose = jose;
  }

  /** What is in a token that was opened before. */
  known(token: string, { id }: KeySet): OpenedToken | undefined {
    const known = this.#known.get(token);
    return known?.keys === id ? known.opened : undefined;
  }

  /** Opens a token. Never rejects. */
  async open(token: string, keys: KeySet): Promise<Opened> {
    if (this.#busy >= MOST_AT_ONCE) return { fault: 'too many encrypted tokens are opened at one time' };
    this.#busy += 1;
    try {
      const opened = await this.#open(token, keys);
      if (!('refused' in opened)) this.#known.set(token, { keys: keys.id, opened });
      return opened;
    } finally {
      this.#busy -= 1;
    }
  }

  async #open(token: string, { decryption }: KeySet): Promise<OpenedToken | OpeningRefusal> {
    const parts = token.split('.', 6);
    if (parts.length !== 5) return { refused: 'not encrypted' };
    const header = readObject(Buffer.from(parts[0] as string, 'base64url'));
    if (!header) return { refused: 'malformed' };
    const { alg, kid } = header.members;
    const candidates = decryption.filter((key) => isCandidate(key, alg, kid)).slice(0, MOST_CANDIDATES);
    for (const key of candidates) {
      const content = await this.#decrypt(token, key, alg as string);
      if (content) return { header, content };
    }
    return typeof kid === 'string' && candidates.length === 0
      ? { refused: 'key', subject: kid }
      : { refused: 'not opened' };
  }

  async #decrypt(token: string, { jwk }: DecryptionKey, alg: string): Promise<Buffer | undefined> {
    try {
      const key = await this.#jose.importJWK(jwk, alg);
      const { plaintext } = await this.#jose.compactDecrypt(token, key, {
        keyManagementAlgorithms: [alg],
        contentEncryptionAlgorithms: CONTENT_ALGORITHMS,
      });
      return Buffer.from(plaintext);
    } catch {
      return undefined;
    }
  }
}

function isCandidate(key: DecryptionKey, alg: unknown, kid: unknown): boolean {
  const fits = typeof alg === 'string' && KEY_ALGORITHMS[key.kty].includes(alg) && (key.alg ?? alg) === alg;
  return fits && (kid === undefined || key.kid === kid);
}

/** Loads what opens encrypted tokens. */
export async function loadDecrypter(): Promise<Decrypter> {
  return new Decrypter(await import('jose'));
}
