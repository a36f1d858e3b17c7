import {
  type ModuleExplanation,
  moduleFor,
  openIssuerDocuments,
  type VariableDefinition,
  type VariableFamily,
  type WorkerScope,
} from '../../contract/index.ts';
import type { Getter } from '../../http/index.ts';
import { type IssuerSource, issuerZone, metadataOf } from '../../issuer/index.ts';
import { claimText, memberAt } from '../../tokens/index.ts';
import { askedProviders, type AuthOidcConfig, directives, fixedName, isRequired } from './directives.ts';
import { type Provider, storeOf } from './provider.ts';
import type { KnownProvider } from './provider-client.ts';
import { probeProvider } from './probe.ts';
import { openProvider, type OpenProviders, ownStoreBytes } from './open-provider.ts';
import { compileAccess, compileIdentify, lastSession } from './recognition.ts';
import { compileUris } from './uris.ts';
import { validate } from './validate.ts';

/** The providers that the requests of a location, or the URIs of a server, need. */
function usedProviders(config: AuthOidcConfig): readonly Provider[] {
  const all = [...askedProviders(config), ...(config.served ?? [])];
  return [...new Map(all.map((provider) => [provider.name, provider])).values()];
}

function sourceOf({ issuer, configUrl, trusted, crl }: Provider): IssuerSource {
  const metadata = configUrl === undefined ? metadataOf(issuer) : { issuer, urls: [configUrl] };
  const trust = { ...(trusted && { ca: trusted.text }), ...(crl && { crl: crl.text }) };
  return { metadata, trust };
}

/** What is known of a provider where nobody asks it. */
const NOTHING = { fault: 'the provider is not asked' };
const UNASKED: KnownProvider = { metadata: () => NOTHING, keys: () => NOTHING, ask: () => undefined };

async function openProviders(
  config: AuthOidcConfig,
  worker: WorkerScope,
  isExplained = false,
): Promise<OpenProviders> {
  const used = usedProviders(config);
  if (used.length === 0) return new Map();
  const oauth = await import('oauth4webapi');
  return new Map(
    used.map((provider) => {
      const known = isExplained ? UNASKED : openIssuerDocuments(sourceOf(provider), worker);
      return [provider.name, openProvider(provider, { worker, known, oauth, isExplained })];
    }),
  );
}

/** The field that is to blame for what a login needs. */
function blamed({ oidc }: AuthOidcConfig): 'oidc' | 'protection' {
  return oidc === true ? 'oidc' : 'protection';
}

const plain = (summary: string, getter: Getter): VariableDefinition => ({
  summary,
  live: true,
  compile: () => getter,
});

const claims: VariableFamily = {
  summary:
    'A claim of the ID token, or else a member of the user information. Elements of arrays are joined by commas; objects are JSON.',
  live: true,
  compile: (name) => (x) => {
    const session = lastSession(x);
    if (!session) return undefined;
    const claim = memberAt(session.idToken.claims.exact, [name]);
    return claimText(claim === undefined ? memberAt(session.userinfo, [name]) : claim);
  },
};

/** Sessions exist in a running gateway only. */
const explanation: ModuleExplanation<AuthOidcConfig, OpenProviders> = {
  runs: true,
  provision: (config, scope) => openProviders(config, scope, true),
  explain: (config) =>
    isRequired(config)
      ? {
          access: () => ({
            does: `requires a login at ${fixedName(config) === undefined ? 'a provider' : `"${fixedName(config)}"`}`,
            unknown: 'the session',
          }),
        }
      : {},
};

/** Logins by OpenID Connect (nginx ngx_http_oidc_module). */
export const authOidc = moduleFor<AuthOidcConfig>()<OpenProviders>({
  name: 'auth_oidc',
  summary: 'Logins at an OpenID Provider, and sessions of clients.',
  directives,
  variables: {
    oidc_id_token: plain('The ID token of the session.', (x) => lastSession(x)?.tokens.idToken),
    oidc_access_token: plain('The access token of the session.', (x) => lastSession(x)?.tokens.accessToken),
    oidc_userinfo: plain('The user information, as JSON.', (x) => lastSession(x)?.tokens.userinfo),
  },
  families: { oidc_claim_: claims },
  enabled: ({ providers, protection, oidc }) =>
    providers !== undefined || protection !== undefined || oidc !== undefined,
  strangers: (config) => (isRequired(config) ? 'denied' : undefined),
  validate,
  forServer: (config, inner) => ({
    ...config,
    served: [config, ...inner].flatMap((each) => askedProviders(each)),
  }),
  zones: (config) =>
    usedProviders(config).flatMap((provider) => {
      const { sessionStore } = provider;
      const own = {
        name: storeOf(provider),
        kind: 'dictionary',
        sizeBytes: ownStoreBytes(provider),
      } as const;
      const zones = [issuerZone(sourceOf(provider)), ...(sessionStore === undefined ? [own] : [])];
      return zones.map((zone) => ({ zone, field: blamed(config) }));
    }),
  uses: (config) =>
    usedProviders(config).flatMap(({ sessionStore }) =>
      sessionStore === undefined
        ? []
        : [{ kind: 'dictionary', name: sessionStore, field: blamed(config) } as const],
    ),
  async probe(config, live) {
    const asked = usedProviders(config).map((provider) =>
      probeProvider({ name: provider.name, source: sourceOf(provider) }, live),
    );
    return (await Promise.all(asked)).flatMap((problem) =>
      problem ? [{ ...problem, field: blamed(config) }] : [],
    );
  },
  provision: (config, worker) => openProviders(config, worker),
  compile(config, providers, build) {
    const served = new Set((config.served ?? []).flatMap(({ name }) => providers.get(name) ?? []));
    return {
      ...(served.size > 0 && { postRead: compileUris([...served], build) }),
      ...(isRequired(config) && {
        identify: compileIdentify(config, providers, build),
        access: compileAccess(config, providers, build),
      }),
    };
  },
  explanation,
  rules: () => import('./rules.ts'),
});
