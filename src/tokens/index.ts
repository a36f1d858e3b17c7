export { bearerToken } from './bearer.ts';
export { claimText, memberAt } from './claim-text.ts';
export { claimsFault, type ClaimRules } from './claims.ts';
export { type Decrypter, loadDecrypter, type Opened, type OpeningRefusal } from './decrypter.ts';
export { readObject, type TokenObject } from './json.ts';
export { readKeyMap, secretKeys } from './key-map.ts';
export {
  ALGORITHMS,
  algorithmsOf,
  joinKeys,
  type Key,
  type KeySet,
  type KeySource,
  LEAST_SECRET_BYTES,
  openKeys,
  readKeySet,
  readKeySource,
  shortestSecretBytes,
} from './keys.ts';
export { isRefusal, type TokenRefusal } from './refusal.ts';
export { TokenVerifier, type VerifiedToken } from './token-verifier.ts';
export type { TokenReader } from './token-reader.ts';
export { readVerified, vouchedToken, vouchFor } from './vouched.ts';
export { publicJwkOf, signClaims, signFlattened, type SignedJson, type SigningKey } from './signing.ts';
