import type { TokenMetrics } from '../metrics.ts';
import { Authenticator } from './authenticator.ts';
import type { AuthRules } from './authenticator.ts';
import type { KeySource } from './key-source.ts';
import { openKeys } from './keys.ts';
import { TokenVerifier } from './token-verifier.ts';

/** Loads the keys of a location, and with them jose, which a location without keys has no need of. */
export async function openAuthenticator(
  source: KeySource | undefined,
  { metrics, ...rules }: Omit<AuthRules, 'verifier'> & { readonly metrics: TokenMetrics },
): Promise<Authenticator> {
  const verifier = source && new TokenVerifier(await import('jose'), openKeys(source), metrics);
  return new Authenticator({ ...rules, verifier });
}
