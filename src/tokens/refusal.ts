/** Why a token is refused. */
type RefusalReason =
  | 'empty'
  | 'parts'
  | 'malformed'
  | 'encrypted'
  | 'unsecured'
  | 'algorithm'
  | 'critical'
  | 'key id'
  | 'size'
  | 'key'
  | 'claims'
  | 'number'
  | 'expired'
  | 'not yet valid'
  | 'from the future'
  | 'audience type'
  | 'audience';

/** A refused token. It has no part of the token but what `subject` says. */
export interface TokenRefusal {
  readonly refused: RefusalReason;
  /** `parts`: how many it has. `key`: the key id that no key has. `number`: the name of the claim. */
  readonly subject?: string;
}

/** Tells a refusal from what is returned for an accepted token. */
export function isRefusal(outcome: object): outcome is TokenRefusal {
  return 'refused' in outcome;
}
