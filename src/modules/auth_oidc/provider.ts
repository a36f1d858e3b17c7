import type { LoadedFile } from '../../client/index.ts';

/** What the directives in an `oidc_provider` block set. */
export interface ProviderFields {
  readonly issuer?: string;
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly configUrl?: string;
  readonly cookieName?: string;
  /** As they are appended to a query. */
  readonly extraAuthArgs?: string;
  readonly frontchannelLogoutUri?: string;
  readonly backchannelLogoutUri?: string;
  /** Absent: if the provider lists it. */
  readonly pkce?: boolean;
  /** A path or an absolute URL. */
  readonly redirectUri?: string;
  readonly logoutUri?: string;
  /** A path or an absolute URL. */
  readonly postLogoutUri?: string;
  readonly logoutTokenHint?: boolean;
  readonly scopes?: readonly string[];
  readonly sessionStore?: string;
  readonly sessionTimeoutMs?: number;
  readonly crl?: LoadedFile;
  readonly trusted?: LoadedFile;
  readonly userinfo?: boolean;
  readonly refresh?: boolean;
  /** The key of sessions that are in cookies, in hexadecimal digits; absent: they are in a store. */
  readonly cookieSecret?: string;
}

/** The settings of a provider whose block does not say others. */
export const DEFAULTS = {
  cookieName: 'NGX_OIDC_SESSION',
  redirectUri: '/oidc_callback',
  logoutTokenHint: false,
  scopes: ['openid'],
  sessionTimeoutMs: 28_800_000,
  userinfo: false,
  refresh: true,
} as const satisfies ProviderFields;

/** A provider: an `oidc_provider` block, or what stands for one. */
export type Provider = ProviderFields &
  Required<Pick<ProviderFields, keyof typeof DEFAULTS | 'issuer' | 'clientId'>> & { readonly name: string };

/** The dictionary that holds the sessions of a provider. */
export function storeOf({ name, sessionStore }: Pick<Provider, 'name' | 'sessionStore'>): string {
  return sessionStore ?? `oidc_default_store_${name}`;
}
