import type { KeySource } from '../../../tokens/index.ts';

/** What verifies tokens: keys, or the URL of a JWK set. */
export type TokenKeys = KeySource | { readonly kind: 'url'; readonly url: string };
