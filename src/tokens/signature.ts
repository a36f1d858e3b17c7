import { constants, createHmac, timingSafeEqual, verify } from 'node:crypto';
import type { Key } from './keys.ts';

/**
 * Returns whether a key made the signature of a token (RFC 7518, RFC 8037). `algorithm` is one of the key's. Signatures
 * are verified at once, not in another thread: that takes a quarter of the time, and a variable needs its value at once.
 */
export function isSigned(token: string, { key }: Pick<Key, 'key'>, algorithm: string): boolean {
  const end = token.lastIndexOf('.');
  const data = Buffer.from(token.slice(0, end), 'latin1');
  const signature = Buffer.from(token.slice(end + 1), 'base64url');
  const family = algorithm.slice(0, 2);
  const hash = `sha${algorithm.slice(2)}`;
  try {
    switch (family) {
      case 'HS':
        return isEqual(createHmac(hash, key).update(data).digest(), signature);
      case 'RS':
        return verify(hash, data, key, signature);
      case 'PS':
        return verify(hash, data, { key, ...pss() }, signature);
      case 'ES':
        return verify(hash, data, { key, dsaEncoding: 'ieee-p1363' }, signature);
      default:
        return verify(null, data, key, signature);
    }
  } catch {
    // OpenSSL refuses some malformed signatures by an error.
    return false;
  }
}

/** A function, because most commands never need Node's cryptography, which evaluates at the first use of a name. */
const pss = () => ({
  padding: constants.RSA_PKCS1_PSS_PADDING,
  saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
});

function isEqual(expected: Buffer, given: Buffer): boolean {
  return expected.length === given.length && timingSafeEqual(expected, given);
}
