import type { Build } from '../../contract/index.ts';
import { type Exchange, quotable } from '../../http/index.ts';
import { type AuthJwtConfig, type Protection, protectionOf } from './directives.ts';
import { compileResource } from './resource.ts';

/** Returns the headers of a refusal: name, value. */
export type Challenge = (x: Exchange, error?: 'invalid_token' | 'insufficient_scope') => readonly string[];

/** Compiles the challenge of RFC 6750, 3: the realm, then the other parameters; and where tokens are had (RFC 9728, 5.1). */
export function compileChallenge(config: AuthJwtConfig, build: Build): Challenge {
  const { scopes, resource } = config;
  const urlsOf = resource && resource !== 'off' ? compileResource(resource, build) : undefined;
  const realmOf = build.value((protectionOf(config) as Protection).realm);
  const scope = scopes ? `, scope="${quotable(scopes.join(' '))}"` : '';
  return (x, error) => {
    const code = error === undefined ? '' : `, error="${error}"`;
    const urls = urlsOf?.(x);
    const metadata = urls ? `, resource_metadata="${quotable(urls.metadata)}"` : '';
    return ['WWW-Authenticate', `Bearer realm="${quotable(realmOf(x))}"${code}${metadata}${scope}`];
  };
}
