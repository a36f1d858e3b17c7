export { claimsFault, type ClaimRules } from './claims.ts';
export {
  algorithmsOf,
  type Key,
  type KeySet,
  type KeySource,
  LEAST_SECRET_BYTES,
  openKeys,
  readKeySource,
  shortestSecretBytes,
} from './keys.ts';
export { isRefusal, type TokenRefusal } from './refusal.ts';
export { TokenVerifier, type VerifiedToken } from './token-verifier.ts';
