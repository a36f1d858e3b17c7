import type { Build } from '../../contract/index.ts';
import { type Exchange, quotable } from '../../http/index.ts';
import type { AuthJwtConfig, Protection } from './directives.ts';

/** Returns the headers of a refusal: name, value. */
export type Challenge = (x: Exchange, error?: 'invalid_token' | 'insufficient_scope') => readonly string[];

/** Compiles the challenge of RFC 6750, 3: the realm, then the other parameters. */
export function compileChallenge({ protection, scopes }: AuthJwtConfig, build: Build): Challenge {
  const realmOf = build.value((protection as Protection).realm);
  const scope = scopes ? `, scope="${quotable(scopes.join(' '))}"` : '';
  return (x, error) => {
    const code = error === undefined ? '' : `, error="${error}"`;
    return ['WWW-Authenticate', `Bearer realm="${quotable(realmOf(x))}"${code}${scope}`];
  };
}
