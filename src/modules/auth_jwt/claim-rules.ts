import type { Build } from '../../contract/index.ts';
import type { Exchange } from '../../http/index.ts';
import type { ClaimRules } from '../../tokens/index.ts';
import type { AuthJwtConfig } from './directives.ts';
import type { LocationIssuer } from './location-issuers.ts';
import { compileResource, RESOURCE } from './resource.ts';

/** Compiles what the claims of a token must say. Only the URL of a resource depends on the request. */
export function compileRules(
  { leewayMs, audiences, resource, checksTimes }: AuthJwtConfig,
  build: Build,
): (x: Exchange, issuer: LocationIssuer) => ClaimRules {
  const rulesFor = (demanded: readonly string[] | undefined): ClaimRules => ({
    leewaySeconds: checksTimes === false ? Infinity : leewayMs / 1_000,
    checksIssue: false,
    audiences: demanded,
    needsAudience: demanded !== undefined,
  });
  const known = new Map<LocationIssuer, ClaimRules>();
  const usual = (_x: Exchange, issuer: LocationIssuer): ClaimRules => {
    const rules = known.get(issuer) ?? rulesFor(audiences ?? issuer.block?.audiences);
    known.set(issuer, rules);
    return rules;
  };
  if (!resource || resource === 'off') return usual;
  // Tools of language models are for tokens that were issued for them.
  const demands = audiences?.includes(RESOURCE) ?? resource.isTools === true;
  if (!demands) return usual;
  const others = audiences?.filter((audience) => audience !== RESOURCE) ?? [];
  const urlsOf = compileResource(resource, build);
  return (x, issuer) => {
    const urls = urlsOf(x);
    if (!urls && audiences === undefined) return usual(x, issuer);
    return rulesFor(urls ? [...others, urls.resource] : others);
  };
}
