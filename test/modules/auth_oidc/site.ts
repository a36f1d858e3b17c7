import { type Gateway, oneGateway } from '../../harness/gateway.ts';
import type { Owner } from '../../harness/owner.ts';
import { CLIENT_ID, CLIENT_SECRET, type FakeProvider, startProvider } from './provider.ts';
import { Visitor } from './visitor.ts';

/** An `oidc_provider` block. */
export function block({ issuer }: Pick<FakeProvider, 'issuer'>, more = '', name = 'idp'): string {
  return `oidc_provider ${name} { issuer ${issuer}; client_id ${CLIENT_ID}; client_secret "${CLIENT_SECRET}"; ${more} }`;
}

/** A site whose pages say who has logged in. */
export const SITE =
  'server { location / { auth_oidc idp; echo -n "$oidc_claim_sub $oidc_claim_groups $request_uri"; } }';

interface Started {
  readonly gw: Gateway;
  readonly provider: FakeProvider;
  readonly visitor: Visitor;
}

interface SiteConf {
  /** Directives in the `oidc_provider` block. */
  readonly more?: string;
  readonly site?: string;
  /** Runs before the gateway asks the provider for anything. */
  readonly prepare?: (provider: FakeProvider) => void;
}

/** Gives what starts a provider and loads a site with it, into one gateway for the tests of a file. */
export function siteLoader(): (t: Owner, conf?: SiteConf) => Promise<Started> {
  const load = oneGateway({ workers: 2 });
  return async (t, { more = '', site = SITE, prepare } = {}) => {
    const provider = await startProvider(t);
    prepare?.(provider);
    return { provider, gw: await load(t, `${block(provider, more)} ${site}`), visitor: new Visitor() };
  };
}
